# The fake CUDA driver of the driver tests, and where NVIDIA's packages may be found. A test whose
# program needs the fake links pyptx_fake_cuda: it gets PYPTX_FAKE_CUDA, the library's file.
add_library(pyptx_fake_cuda_library SHARED ${CMAKE_CURRENT_LIST_DIR}/fake_cuda.cpp
                                           ${CMAKE_CURRENT_LIST_DIR}/fake_compile.cpp)
set_target_properties(pyptx_fake_cuda_library PROPERTIES CXX_VISIBILITY_PRESET default
                                                         OUTPUT_NAME fake_cuda)
target_link_libraries(pyptx_fake_cuda_library PRIVATE pyptx_flags)
# Its thread-local variables are in the static block: GCC's LeakSanitizer takes some addresses of
# dynamic ones for glibc 2.19's, and dies of what it reads before them.
target_compile_options(pyptx_fake_cuda_library PRIVATE -ftls-model=initial-exec)
target_include_directories(pyptx_fake_cuda_library PRIVATE ${PROJECT_SOURCE_DIR}/src/driver)

add_library(pyptx_fake_cuda INTERFACE)
add_dependencies(pyptx_fake_cuda pyptx_fake_cuda_library)
target_include_directories(pyptx_fake_cuda INTERFACE ${CMAKE_CURRENT_LIST_DIR}
                                                     ${PROJECT_SOURCE_DIR}/src/driver)
target_compile_definitions(
  pyptx_fake_cuda INTERFACE PYPTX_FAKE_CUDA="$<TARGET_FILE:pyptx_fake_cuda_library>")

if(TARGET driver_test)
  target_link_libraries(driver_test PRIVATE pyptx_fake_cuda)
  target_compile_definitions(driver_test PRIVATE PYPTX_SITE_PACKAGES="${Python_SITELIB}")
  # The declarations of src/driver/cuda_abi.h are compared with NVIDIA's where those are installed.
  find_path(PYPTX_CUDA_HEADERS cuda.h PATHS ${Python_SITELIB}/nvidia/cu13/include
                                            /usr/local/cuda/include NO_DEFAULT_PATH)
  if(PYPTX_CUDA_HEADERS)
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/cuda_abi_test.cpp
                                PROPERTIES COMPILE_OPTIONS "-isystem;${PYPTX_CUDA_HEADERS}")
  endif()
endif()
