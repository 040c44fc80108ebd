# XLA's FFI headers (xla/ffi/api/c_api.h), taken from the installed jaxlib unless PYPTX_XLA_INCLUDE
# names a folder. Without them the interop layer builds without XLA and says so when it is asked.
# Only the sources named xla* read them, and a test that links pyptx_xla_headers; so a jaxlib that is
# installed later changes the commands of few files.
function(pyptx_xla_headers layer)
  add_library(pyptx_xla_headers INTERFACE)
  set(folder "${PYPTX_XLA_INCLUDE}")
  if(NOT folder)
    execute_process(
      COMMAND ${Python_EXECUTABLE} -c
              "from importlib.util import find_spec; s = find_spec('jaxlib'); \
print((s.submodule_search_locations[0] + '/include') if s else '', end='')"
      OUTPUT_VARIABLE folder ERROR_QUIET)
  endif()
  if(folder AND EXISTS "${folder}/xla/ffi/api/c_api.h")
    target_include_directories(pyptx_xla_headers SYSTEM INTERFACE "${folder}")
    file(GLOB_RECURSE sources ${PROJECT_SOURCE_DIR}/src/${layer}/xla*.cpp)
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-isystem;${folder}")
    message(STATUS "XLA FFI headers: ${folder}")
  else()
    message(STATUS "XLA FFI headers: not found; building without XLA")
  endif()
endfunction()
