# XLA's FFI headers (xla/ffi/api/c_api.h), taken from the installed jaxlib unless PYPTX_XLA_INCLUDE
# names a folder. Without them the interop layer builds without XLA and says so when it is asked.
function(pyptx_xla_headers layer)
  set(folder "${PYPTX_XLA_INCLUDE}")
  if(NOT folder)
    execute_process(
      COMMAND ${Python_EXECUTABLE} -c
              "from importlib.util import find_spec; s = find_spec('jaxlib'); \
print((s.submodule_search_locations[0] + '/include') if s else '', end='')"
      OUTPUT_VARIABLE folder ERROR_QUIET)
  endif()
  if(folder AND EXISTS "${folder}/xla/ffi/api/c_api.h")
    target_include_directories(pyptx_${layer} SYSTEM PRIVATE "${folder}")
    message(STATUS "XLA FFI headers: ${folder}")
  else()
    message(STATUS "XLA FFI headers: not found; building without XLA")
  endif()
endfunction()
