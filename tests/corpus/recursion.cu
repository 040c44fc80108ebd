// SPDX-License-Identifier: Apache-2.0
//
// Recursive device functions and malloc on the device.
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ void quick_sort(int* data, int low, int high) {
  if (low >= high) return;
  const int pivot = data[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i <= j) {
      const int t = data[i];
      data[i++] = data[j];
      data[j--] = t;
    }
  }
  quick_sort(data, low, j);
  quick_sort(data, i, high);
}

struct Node {
  int value;
  Node* left;
  Node* right;
};
__device__ Node* insert(Node* root, int value) {
  if (root == nullptr) {
    root = static_cast<Node*>(malloc(sizeof(Node)));
    root->value = value;
    root->left = root->right = nullptr;
  } else if (value < root->value) {
    root->left = insert(root->left, value);
  } else {
    root->right = insert(root->right, value);
  }
  return root;
}
__device__ int sum(const Node* node) {
  return node == nullptr ? 0 : node->value + sum(node->left) + sum(node->right);
}

__global__ void recurse(int* data, int count) {
  data[count] = ackermann(2, threadIdx.x);
  quick_sort(data, 0, count - 1);
  Node* root = nullptr;
  for (int i = 0; i < count; ++i) root = insert(root, data[i]);
  data[count + 1] = sum(root);
  free(root);
}
