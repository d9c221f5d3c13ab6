#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

int main() {
  NS::AutoreleasePool *pool = NS::AutoreleasePool::alloc()->init();
  MTL::Device *device = MTL::CreateSystemDefaultDevice();
  std::ifstream file("scale.metal");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  NS::Error *error = nullptr;
  MTL::Library *library = device->newLibrary(NS::String::string(text.c_str(), NS::UTF8StringEncoding), nullptr, &error);
  if (!library) {
    std::fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
    return 1;
  }
  MTL::Function *function = library->newFunction(NS::String::string("scale", NS::UTF8StringEncoding));
  MTL::ComputePipelineState *pipeline = device->newComputePipelineState(function, &error);
  float numbers[4] = {1, 2, 3, 4}, by = 10;
  MTL::Buffer *x = device->newBuffer(numbers, sizeof numbers, MTL::ResourceStorageModeShared);
  MTL::CommandBuffer *commands = device->newCommandQueue()->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline);
  encoder->setBuffer(x, 0, 0);
  encoder->setBytes(&by, sizeof by, 1);
  encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  const float *result = static_cast<const float *>(x->contents());
  std::printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
  pool->release();
}
