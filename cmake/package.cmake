# The CMake package: `cmake --install <build> --component development` puts headers, static libraries
# and this package under a prefix, and `find_package(pyptx)` gives the target pyptx::pyptx, which is
# every layer, and pyptx::<layer> for those who want fewer. The Python wheel installs none of this.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(layers GLOBAL PROPERTY PYPTX_LAYERS)
add_library(pyptx INTERFACE)
add_library(pyptx::pyptx ALIAS pyptx)
set(targets pyptx)
foreach(layer ${layers})
  target_link_libraries(pyptx INTERFACE pyptx_${layer})
  set_target_properties(pyptx_${layer} PROPERTIES EXPORT_NAME ${layer})
  list(APPEND targets pyptx_${layer})
endforeach()
target_compile_features(pyptx INTERFACE cxx_std_20)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pyptx)
install(TARGETS ${targets} EXPORT pyptx-targets COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/generated/include/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(EXPORT pyptx-targets NAMESPACE pyptx:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pyptx-config.cmake.in
                              ${PROJECT_BINARY_DIR}/pyptx-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pyptx-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pyptx-config.cmake
              ${PROJECT_BINARY_DIR}/pyptx-config-version.cmake
        DESTINATION ${package} COMPONENT development)
