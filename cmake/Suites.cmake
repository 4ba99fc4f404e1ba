# plimsoll_suite(PREFIX TARGET TIMEOUT): runs a GoogleTest program as one process, "PREFIX: all", and
# adds a CTest test for each of its tests, "PREFIX: Suite.Test". A process for each test would spend
# most of its time on starting.
function(plimsoll_suite prefix target timeout)
  set(directory ${CMAKE_BINARY_DIR}/suites)
  set(log ${directory}/${target}.log)
  add_test(NAME "${prefix}: all"
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/run_suite.sh ${log} $<TARGET_FILE:${target}>)
  plimsoll_timeout(timeout ${timeout})
  set_tests_properties("${prefix}: all" PROPERTIES
    FIXTURES_SETUP ${target} LABELS unit TIMEOUT ${timeout})
  file(GENERATE OUTPUT ${directory}/${target}.cmake CONTENT
"include(\"${PROJECT_SOURCE_DIR}/cmake/tests_by_name.cmake\")
plimsoll_tests_by_name(PREFIX \"${prefix}\" PROGRAM \"$<TARGET_FILE:${target}>\" LOG \"${log}\"
  LIST \"${directory}/${target}.tests\" FIXTURE ${target} LABEL unit PATTERNS *)
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${directory}/${target}.cmake)
endfunction()

# plimsoll_suite_in_memory(PREFIX): its directories are in /dev/shm, if the machine has that. For
# suites that write whole machines' files: on a disk they mostly wait for its journal.
function(plimsoll_suite_in_memory prefix)
  if(IS_DIRECTORY /dev/shm)
    set_property(TEST "${prefix}: all" APPEND PROPERTY ENVIRONMENT TMPDIR=/dev/shm)
  endif()
endfunction()
