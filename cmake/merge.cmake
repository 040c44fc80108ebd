# Sources compiled together, because reading headers is most of what a source costs: a file of seventy
# lines is 58,000 after its includes, and the whole tree takes a quarter of the time.

# pyptx_merge(target source...) has the sources of one folder compiled up to eight at a time. So what
# is local to a file has a name of its own in its folder. A source with options of its own, and one
# marked SKIP_UNITY_BUILD_INCLUSION, stands alone. PYPTX_MERGE=OFF compiles each alone, as clang-tidy
# reads them (tools/lint/tidy.py): every source includes what it needs.
function(pyptx_merge target)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" group)
    if(NOT DEFINED count_${group})
      set(count_${group} 0)
    endif()
    math(EXPR batch "${count_${group}} / 8")
    math(EXPR count_${group} "${count_${group}} + 1")
    cmake_path(GET folder FILENAME name)
    # The same wherever the tree lies, so that a compiler cache knows what another checkout compiled.
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(SHA1 digest "${folder}")
    string(SUBSTRING ${digest} 0 4 digest)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${digest}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PYPTX_MERGE} UNITY_BUILD_MODE GROUP)
endfunction()
