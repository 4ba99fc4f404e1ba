# The presets asan, tsan and fuzz: PLIMSOLL_SANITIZE is what -fsanitize= gets. To be included after
# Dependencies.cmake and before any target of the project.
set(PLIMSOLL_SANITIZE "" CACHE STRING "Value for -fsanitize=, e.g. address,undefined")
if(NOT PLIMSOLL_SANITIZE)
  return()
endif()

# A finding ends the program, so that no test and no fuzzer can pass with one.
add_compile_options(-fsanitize=${PLIMSOLL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
add_link_options(-fsanitize=${PLIMSOLL_SANITIZE})
add_subdirectory(tests/sanitizers)
link_libraries("$<$<AND:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,$<NOT:$<BOOL:$<TARGET_PROPERTY:PLIMSOLL_STATIC>>>>:sanitizer_parts>")
