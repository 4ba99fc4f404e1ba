# plimsoll_add_rooms(FILE): reads the list of rooms and adds each one's directory.
# plimsoll_room([LIBS lib...] [PROGRAM_FILES file...]): in a room's CMakeLists.txt,
# makes of all its .cc files the library `room_<name>` and of all its *_test.cc the
# program `<name>_test`. Libraries link to every room before them.

function(plimsoll_add_rooms file)
  file(STRINGS ${file} lines REGEX "^[a-z]")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  set_property(GLOBAL PROPERTY PLIMSOLL_ROOMS "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^[^ ]+" room "${line}")
    set(PLIMSOLL_ROOM ${room})
    add_subdirectory(src/${room})
  endforeach()
endfunction()

function(plimsoll_room)
  cmake_parse_arguments(ARG "" "" "LIBS;PROGRAM_FILES" ${ARGN})
  string(REPLACE "/" "_" name ${PLIMSOLL_ROOM})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  list(TRANSFORM ARG_PROGRAM_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  if(ARG_PROGRAM_FILES)
    list(REMOVE_ITEM sources ${ARG_PROGRAM_FILES})
  endif()

  get_property(above GLOBAL PROPERTY PLIMSOLL_ROOMS)
  set(below_first ${above})
  list(REVERSE below_first)
  if(sources)
    add_library(room_${name} STATIC ${sources})
    target_link_libraries(room_${name} PUBLIC plimsoll_options ${ARG_LIBS} ${below_first})
  else()
    add_library(room_${name} INTERFACE)
    target_link_libraries(room_${name} INTERFACE plimsoll_options ${ARG_LIBS} ${below_first})
  endif()
  set_property(GLOBAL PROPERTY PLIMSOLL_ROOMS ${above} room_${name})

  if(BUILD_TESTING AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE room_${name} GTest::gmock GTest::gtest_main)
    plimsoll_timeout(timeout 120)
    gtest_discover_tests(${name}_test TEST_PREFIX "${PLIMSOLL_ROOM}: "
      DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT ${timeout} LABELS unit)
  endif()
endfunction()
