# Read by CTest when it starts: one CTest test for each test of the programs that run in the virtual
# machine, by name. CMake wrote the list of programs; their tests are asked of themselves, and again
# when a program, or the list of programs, is newer than what it said.
#
# Set by the file that includes this one: PLIMSOLL_VM_SOURCE, PLIMSOLL_VM_DIRECTORY.
file(STRINGS ${PLIMSOLL_VM_DIRECTORY}/programs programs REGEX "^(test|alone) ")
foreach(entry IN LISTS programs)
  string(REPLACE " " ";" entry "${entry}")
  list(GET entry 1 name)
  list(GET entry 2 program)
  list(GET entry 3 filter)
  set(cache ${PLIMSOLL_VM_DIRECTORY}/${name}.tests)
  # Its tests must not vanish without a word.
  if(NOT EXISTS ${program})
    set(test "vm: ${name}: is not built")
    add_test("${test}" /bin/sh -c "echo '${program} is not built, so its tests are not known' && false")
    set_tests_properties("${test}" PROPERTIES LABELS vm)
    continue()
  endif()
  if(${program} IS_NEWER_THAN ${cache} OR ${PLIMSOLL_VM_DIRECTORY}/programs IS_NEWER_THAN ${cache})
    execute_process(COMMAND ${program} --gtest_list_tests --gtest_filter=${filter} OUTPUT_FILE ${cache}
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
  file(STRINGS ${cache} lines)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE " *#.*" "" line "${line}")
    if(line MATCHES "^([^ ]+\\.)$")
      set(suite ${CMAKE_MATCH_1})
    elseif(line MATCHES "^  ([^ ]+)$")
      set(test "vm: ${name}: ${suite}${CMAKE_MATCH_1}")
      add_test("${test}" ${PLIMSOLL_VM_SOURCE}/result.sh
        ${PLIMSOLL_VM_DIRECTORY}/results/${name}.log ${suite}${CMAKE_MATCH_1})
      set_tests_properties("${test}" PROPERTIES LABELS vm FIXTURES_REQUIRED vm TIMEOUT 30
        SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
    endif()
  endforeach()
endforeach()
