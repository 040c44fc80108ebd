# The interop tests also build XLA call frames by hand, so they need the layer's XLA headers, and
# launch through the fake CUDA driver of the driver tests.
if(TARGET interop_test)
  target_link_libraries(interop_test PRIVATE pyptx_fake_cuda pyptx_xla_headers)
  target_compile_definitions(interop_test
                             PRIVATE PYPTX_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
endif()
