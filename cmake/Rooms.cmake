# plimsoll_add_rooms(FILE): reads the list of rooms and adds each one's directory.
# plimsoll_room([LIBS lib...] [PROGRAM_FILES file...]): in a room's CMakeLists.txt,
# makes of all its .cc files the library `room_<name>` and of all its *_test.cc the
# program `<name>_test`. Both link to the rooms that the list names for them.

function(plimsoll_add_rooms file)
  file(STRINGS ${file} lines REGEX "^[a-z]")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([^ :]+)[^:]*:([^(]*)(\\(([^)]*)\\))?$")
      message(FATAL_ERROR "${file}: \"${line}\" is not \"ROOM MARK...: ROOM... (ROOM...)\"")
    endif()
    set(PLIMSOLL_ROOM ${CMAKE_MATCH_1})
    plimsoll_room_libraries(PLIMSOLL_ROOM_USES "${CMAKE_MATCH_2}")
    plimsoll_room_libraries(PLIMSOLL_ROOM_TESTS_USE "${CMAKE_MATCH_4}")
    add_subdirectory(src/${PLIMSOLL_ROOM})
  endforeach()
endfunction()

# The libraries of the rooms named in a text.
function(plimsoll_room_libraries out names)
  separate_arguments(names UNIX_COMMAND "${names}")
  set(libraries "")
  foreach(name IN LISTS names)
    string(REPLACE "/" "_" library "room_${name}")
    list(APPEND libraries ${library})
  endforeach()
  set(${out} ${libraries} PARENT_SCOPE)
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

  if(sources)
    add_library(room_${name} STATIC ${sources})
    target_link_libraries(room_${name} PUBLIC plimsoll_options ${ARG_LIBS} ${PLIMSOLL_ROOM_USES})
  else()
    add_library(room_${name} INTERFACE)
    target_link_libraries(room_${name} INTERFACE plimsoll_options ${ARG_LIBS} ${PLIMSOLL_ROOM_USES})
  endif()

  if(BUILD_TESTING AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE room_${name} ${PLIMSOLL_ROOM_TESTS_USE} GTest::gmock
      GTest::gtest_main)
    plimsoll_suite(${PLIMSOLL_ROOM} ${name}_test 300)
  endif()
endfunction()
