# The instruction tables: generated at build time from isa/ by tools/isagen, never committed.

# pyptx_isa_tables(layer) adds the generated table and headers to target pyptx_<layer>.
function(pyptx_isa_tables layer)
  set(out ${PROJECT_BINARY_DIR}/generated)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/isa/*.toml
                                             ${PROJECT_SOURCE_DIR}/tools/isagen/*.py)
  set(headers ${out}/include/pyptx/isa/type_ids.h ${out}/include/pyptx/isa/ids.h
              ${out}/include/pyptx/isa/sems.def ${out}/include/pyptx/isa/largest_limits.def)
  # The stamp is the declared output: unchanged files keep their time stamps, so a change to one
  # row's text does not rebuild every layer that includes ids.h.
  add_custom_command(
    OUTPUT ${out}/isagen.stamp
    BYPRODUCTS ${headers} ${out}/isa_tables.cpp
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/tools
            PYTHONDONTWRITEBYTECODE=1 ${Python_EXECUTABLE} -m isagen
            --table ${PROJECT_SOURCE_DIR}/isa --out ${out}
    COMMAND ${CMAKE_COMMAND} -E touch ${out}/isagen.stamp
    DEPENDS ${inputs}
    COMMENT "Generating the instruction tables"
    VERBATIM)
  add_custom_target(pyptx_isagen DEPENDS ${out}/isagen.stamp)
  set_source_files_properties(${out}/isa_tables.cpp PROPERTIES GENERATED TRUE)
  target_sources(pyptx_${layer} PRIVATE ${out}/isa_tables.cpp)
  target_include_directories(pyptx_${layer} PUBLIC $<BUILD_INTERFACE:${out}/include>)
  add_dependencies(pyptx_${layer} pyptx_isagen)
endfunction()
