# One static library per folder of src/. A layer links the layers it names and nothing else, so a
# call that points up does not link; tools/lint/layers.py reads the same list and refuses the
# include, in words.

# What a compiler prints and should not.
add_library(pyptx_false_alarms INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Notes that GCC 4.6 passed aligned parameters in another way; it cannot compile C++20.
  target_compile_options(pyptx_false_alarms INTERFACE -Wno-psabi)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports overlapping copies inside std::string's own operator+ when it optimises (GCC bug
  # 105651, fixed in 13); the finding is never about our code.
  target_compile_options(pyptx_false_alarms INTERFACE -Wno-restrict)
endif()

add_library(pyptx_flags INTERFACE)
target_link_libraries(pyptx_flags INTERFACE pyptx_false_alarms)
target_compile_options(pyptx_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion
                                             -Wno-sign-conversion)
if(PYPTX_WERROR)
  target_compile_options(pyptx_flags INTERFACE -Werror)
endif()
if(PYPTX_SANITIZE)
  target_compile_options(pyptx_flags INTERFACE -fsanitize=${PYPTX_SANITIZE}
                                               -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(pyptx_flags INTERFACE -fsanitize=${PYPTX_SANITIZE})
endif()

if(PYPTX_FUZZ)
  target_compile_options(pyptx_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# pyptx_layer(name DEPS other...) makes target pyptx_<name> from src/<name>/*.cpp.
function(pyptx_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  if(sources)
    add_library(pyptx_${name} STATIC ${sources})
    set(kind PUBLIC)
    target_link_libraries(pyptx_${name} PRIVATE $<BUILD_INTERFACE:pyptx_flags>)
    target_include_directories(pyptx_${name} PRIVATE ${folder})
    target_compile_options(pyptx_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
    pyptx_merge(pyptx_${name} ${sources})
  else()
    add_library(pyptx_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_include_directories(
    pyptx_${name} ${kind} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                          $<INSTALL_INTERFACE:include>)
  target_compile_features(pyptx_${name} ${kind} cxx_std_20)
  set_property(GLOBAL APPEND PROPERTY PYPTX_LAYERS ${name})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(pyptx_${name} ${kind} pyptx_${dep})
  endforeach()
endfunction()
