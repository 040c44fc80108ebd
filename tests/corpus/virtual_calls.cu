// SPDX-License-Identifier: Apache-2.0
//
// Virtual functions, multiple inheritance, function pointers and indirect calls.
struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
  __device__ virtual int corners() const { return 0; }
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
  __device__ int corners() const override { return 4; }
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.14159f * radius * radius; }
};
struct Named {
  __device__ virtual int name() const { return 7; }
};
struct Tile : Square, Named {
  __device__ explicit Tile(float s) : Square(s) {}
  __device__ int name() const override { return 9; }
};

__global__ void areas(const float* sizes, float* out) {
  const int i = threadIdx.x;
  Shape* shape = nullptr;
  if (i % 3 == 0)
    shape = new Square(sizes[i]);
  else if (i % 3 == 1)
    shape = new Circle(sizes[i]);
  else
    shape = new Tile(sizes[i]);
  out[i] = shape->area() + shape->corners();
  delete shape;
  Tile tile(2.0f);
  const Named* named = &tile;
  out[i] += named->name();
}

using Unary = float (*)(float);
__device__ __noinline__ float twice(float x) { return x * 2.0f; }
__device__ __noinline__ float half(float x) { return x * 0.5f; }
__device__ Unary table[] = {twice, half, nullptr};
__device__ Unary chosen = twice;

__global__ void indirect(float* data, int which) {
  const Unary function = which < 0 ? chosen : table[which & 1];
  data[threadIdx.x] = function(data[threadIdx.x]);
}

struct Wide {
  double values[5];
  int count;
};
__device__ __noinline__ Wide widen(Wide in, char tag, short extra) {
  in.values[in.count % 5] += tag + extra;
  return in;
}
__global__ void by_value(Wide* data, Wide (*function)(Wide, char, short)) {
  data[threadIdx.x] = widen(data[threadIdx.x], 'a', 3);
  if (function != nullptr) data[threadIdx.x] = function(data[threadIdx.x], 'b', 4);
}
