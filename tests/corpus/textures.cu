// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects of every shape: filtered, layered, cube, gather, lod, gradients.
__global__ void sample(cudaTextureObject_t texture, float4* out, float u, float v) {
  const int i = threadIdx.x;
  out[i] = tex2D<float4>(texture, u, v);
  out[i + 1] = tex1D<float4>(texture, u);
  out[i + 2] = tex3D<float4>(texture, u, v, u);
  out[i + 3] = tex2DLayered<float4>(texture, u, v, i);
  out[i + 4] = texCubemap<float4>(texture, u, v, u);
  out[i + 5] = tex2DLod<float4>(texture, u, v, 2.0f);
  out[i + 6] = tex2DGrad<float4>(texture, u, v, make_float2(u, v), make_float2(v, u));
  out[i + 7] = tex2Dgather<float4>(texture, u, v, 2);
  out[i + 8] = texCubemapLayered<float4>(texture, u, v, u, i);
  bool resident = false;
  out[i + 9] = tex2D<float4>(texture, u, v, &resident);
  if (!resident) out[i + 9] = make_float4(0, 0, 0, 0);
  out[i + 10] = tex3DGrad<float4>(texture, u, v, u, out[i], out[i + 1]);
}

__global__ void fetch(cudaTextureObject_t texture, int4* whole, unsigned* words, short2* pairs) {
  const int i = threadIdx.x;
  whole[i] = tex1Dfetch<int4>(texture, i);
  words[i] = tex1Dfetch<unsigned>(texture, i + 1);
  pairs[i] = tex2D<short2>(texture, 0.5f, 0.5f);
  words[i + 1] = tex1DLayered<unsigned>(texture, 0.5f, i);
}

__global__ void surfaces(cudaSurfaceObject_t in, cudaSurfaceObject_t out) {
  const int x = threadIdx.x;
  const int y = blockIdx.x;
  float4 pixel = surf2Dread<float4>(in, x * 16, y);
  pixel.x += surf1Dread<float>(in, x * 4, cudaBoundaryModeClamp);
  const int2 pair = surf3Dread<int2>(in, x * 8, y, 0, cudaBoundaryModeZero);
  surf2Dwrite(pixel, out, x * 16, y);
  surf2Dwrite(static_cast<short>(pair.x), out, x * 2, y, cudaBoundaryModeZero);
  surf1DLayeredwrite(make_uchar4(1, 2, 3, 4), out, x * 4, y);
  surf2DLayeredwrite(pixel, out, x * 16, y, 3, cudaBoundaryModeClamp);
  surfCubemapwrite(pair, out, x * 8, y, 2);
}

__global__ void queries(cudaTextureObject_t texture, cudaSurfaceObject_t surface, int* out) {
  int width, height, channels, depth;
  asm("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(texture));
  asm("txq.height.b32 %0, [%1];" : "=r"(height) : "l"(texture));
  asm("suq.channel_order.b32 %0, [%1];" : "=r"(channels) : "l"(surface));
  asm("suq.depth.b32 %0, [%1];" : "=r"(depth) : "l"(surface));
  out[threadIdx.x] = width + height + channels + depth;
}
