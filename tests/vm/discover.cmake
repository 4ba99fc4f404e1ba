# Read by CTest at its start: adds a CTest test for each test that runs in the virtual machine. CMake
# wrote the list of programs into PLIMSOLL_VM_DIRECTORY, set by the including file.
file(STRINGS ${PLIMSOLL_VM_DIRECTORY}/programs programs REGEX "^(test|alone) ")
foreach(entry IN LISTS programs)
  string(REPLACE " " ";" entry "${entry}")
  list(GET entry 1 name)
  list(GET entry 2 program)
  list(GET entry 3 patterns)
  if(patterns STREQUAL "-")
    continue()
  endif()
  string(REPLACE ":" ";" patterns "${patterns}")
  plimsoll_tests_by_name(PREFIX "vm: ${name}" PROGRAM ${program}
    LOG ${PLIMSOLL_VM_DIRECTORY}/results/${name}.log LIST ${PLIMSOLL_VM_DIRECTORY}/${name}.tests
    FIXTURE vm LABEL vm PATTERNS ${patterns})
endforeach()
