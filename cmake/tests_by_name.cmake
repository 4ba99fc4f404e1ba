# Read by CTest at its start: a GoogleTest program runs as a whole, and is reported test by test.
#
# plimsoll_tests_by_name(PREFIX prefix PROGRAM path LOG path LIST path FIXTURE fixture LABEL label
#                        PATTERNS pattern...)
#
# Adds "PREFIX: Suite.Test" for each test of PROGRAM that one of PATTERNS (GoogleTest's) matches. Each
# reads its result from LOG, written by the test that sets FIXTURE up. LIST caches the names; if PROGRAM
# is newer they are read again. A missing program, or a pattern without a test, becomes a failing test:
# tests must not vanish silently.
set(plimsoll_cmake_directory ${CMAKE_CURRENT_LIST_DIR})

function(plimsoll_failing_test name label why)
  add_test("${name}" /bin/sh -c "echo \"$1\"; false" sh "${why}")
  set_tests_properties("${name}" PROPERTIES LABELS ${label})
endfunction()

function(plimsoll_tests_by_name)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PREFIX;PROGRAM;LOG;LIST;FIXTURE;LABEL" "PATTERNS")
  if(NOT EXISTS ${arg_PROGRAM})
    plimsoll_failing_test("${arg_PREFIX}: is not built" ${arg_LABEL}
      "${arg_PROGRAM} is not built, so its tests are not known")
    return()
  endif()
  if(${arg_PROGRAM} IS_NEWER_THAN ${arg_LIST})
    execute_process(COMMAND ${arg_PROGRAM} --gtest_list_tests OUTPUT_FILE ${arg_LIST}
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
  file(STRINGS ${arg_LIST} lines)
  set(all "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE " *#.*" "" line "${line}")
    if(line MATCHES "^([^ ]+\\.)$")
      set(suite ${CMAKE_MATCH_1})
    elseif(line MATCHES "^  ([^ ]+)$")
      list(APPEND all ${suite}${CMAKE_MATCH_1})
    endif()
  endforeach()

  set(wanted "")
  foreach(pattern IN LISTS arg_PATTERNS)
    string(REPLACE "." "\\." regex "${pattern}")
    string(REPLACE "*" ".*" regex "${regex}")
    set(matching ${all})
    list(FILTER matching INCLUDE REGEX "^${regex}$")
    if(NOT matching)
      plimsoll_failing_test("${arg_PREFIX}: ${pattern}" ${arg_LABEL}
        "no test of ${arg_PROGRAM} matches ${pattern}")
    endif()
    list(APPEND wanted ${matching})
  endforeach()
  list(REMOVE_DUPLICATES wanted)

  foreach(name IN LISTS wanted)
    set(test "${arg_PREFIX}: ${name}")
    add_test("${test}" ${plimsoll_cmake_directory}/test_result.sh ${arg_LOG} ${name})
    set_tests_properties("${test}" PROPERTIES LABELS ${arg_LABEL} FIXTURES_REQUIRED ${arg_FIXTURE}
      TIMEOUT 30 SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  endforeach()
endfunction()
