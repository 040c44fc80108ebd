// SPDX-License-Identifier: Apache-2.0
//
// Device-wide thrust algorithms: sort, scan, reduce by key, unique, transform with lambdas.
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

struct Square {
  __host__ __device__ float operator()(float x) const { return x * x; }
};

struct Saxpy {
  float a;
  __host__ __device__ float operator()(const thrust::tuple<float, float>& t) const {
    return a * thrust::get<0>(t) + thrust::get<1>(t);
  }
};

float run(thrust::device_vector<float>& x, thrust::device_vector<float>& y,
          thrust::device_vector<int>& keys, thrust::device_vector<int>& out) {
  thrust::inclusive_scan(x.begin(), x.end(), y.begin());
  auto zipped = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin()));
  thrust::transform(zipped, zipped + x.size(), y.begin(), Saxpy{2.0f});
  thrust::reduce_by_key(keys.begin(), keys.end(), thrust::counting_iterator<int>(0), out.begin(),
                        out.begin());
  thrust::unique(keys.begin(), keys.end());
  auto squares = thrust::make_transform_iterator(x.begin(), Square{});
  return thrust::reduce(squares, squares + x.size(), 0.0f, thrust::maximum<float>{});
}
