# The CMake package: `cmake --install <build> --component development` puts headers, libraries, their
# licence and this package under a prefix. `find_package(pyptx)` gives pyptx::pyptx, which is every
# layer; COMPONENTS text, author, emulator and launch name targets for those who want fewer
# (pyptx::text, ...), and each layer is pyptx::<layer>. Libraries are static, one for each layer, or
# with PYPTX_SHARED one shared library, which is all of those targets. The Python wheel installs none
# of this.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(layers GLOBAL PROPERTY PYPTX_LAYERS)
# What the parts that users name are.
set(part_text text)
set(part_author author)
set(part_emulator emu text)
set(part_launch interop call)
set(parts text author emulator launch)

if(PYPTX_SHARED)
  add_library(pyptx SHARED ${PROJECT_SOURCE_DIR}/cmake/shared.cpp)
  set_target_properties(pyptx PROPERTIES VERSION ${PROJECT_VERSION}
                                         SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_include_directories(
    pyptx INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated/include>
                    $<INSTALL_INTERFACE:include>)
  foreach(layer ${layers})
    target_link_libraries(pyptx PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,pyptx_${layer}>)
  endforeach()
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(pyptx PRIVATE -Wl,--version-script=${exports})
  set_property(TARGET pyptx APPEND PROPERTY LINK_DEPENDS ${exports})
  set(targets pyptx)
else()
  add_library(pyptx INTERFACE)
  set(targets pyptx)
  foreach(layer ${layers})
    target_link_libraries(pyptx INTERFACE pyptx_${layer})
    set_target_properties(pyptx_${layer} PROPERTIES EXPORT_NAME ${layer})
    list(APPEND targets pyptx_${layer})
  endforeach()
endif()
add_library(pyptx::pyptx ALIAS pyptx)
target_compile_features(pyptx INTERFACE cxx_std_20)

# A layer has the name that a part would have, or the part is a target of its own.
set(names ${parts})
if(PYPTX_SHARED)
  list(APPEND names ${layers})
  list(REMOVE_DUPLICATES names)
endif()
foreach(name ${names})
  if(NOT PYPTX_SHARED AND TARGET pyptx_${name})
    add_library(pyptx::${name} ALIAS pyptx_${name})
    continue()
  endif()
  add_library(pyptx_part_${name} INTERFACE)
  add_library(pyptx::${name} ALIAS pyptx_part_${name})
  set_target_properties(pyptx_part_${name} PROPERTIES EXPORT_NAME ${name})
  if(PYPTX_SHARED)
    target_link_libraries(pyptx_part_${name} INTERFACE pyptx)
  else()
    list(TRANSFORM part_${name} PREPEND pyptx_)
    target_link_libraries(pyptx_part_${name} INTERFACE ${part_${name}})
  endif()
  list(APPEND targets pyptx_part_${name})
endforeach()

# All that component development installs.
add_custom_target(pyptx_development)
add_dependencies(pyptx_development ${targets} pyptx_command pyptx_torch)

# The same for those who build without CMake.
if(PYPTX_SHARED)
  set(pkg_config_libraries "-lpyptx")
else()
  set(reversed ${layers})
  list(REVERSE reversed)
  foreach(layer ${reversed})
    get_target_property(kind pyptx_${layer} TYPE)
    if(kind STREQUAL STATIC_LIBRARY)
      string(APPEND pkg_config_libraries "-lpyptx_${layer} ")
    endif()
  endforeach()
  list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE loader)
  string(APPEND pkg_config_libraries "-pthread ${loader}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/pyptx.pc.in ${PROJECT_BINARY_DIR}/pyptx.pc @ONLY)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pyptx)
install(TARGETS ${targets} EXPORT pyptx-targets COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/generated/include/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(EXPORT pyptx-targets NAMESPACE pyptx:: DESTINATION ${package} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/pyptx
        COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/pyptx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pyptx-config.cmake.in
                              ${PROJECT_BINARY_DIR}/pyptx-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pyptx-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pyptx-config.cmake
              ${PROJECT_BINARY_DIR}/pyptx-config-version.cmake
        DESTINATION ${package} COMPONENT development)
