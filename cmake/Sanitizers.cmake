# The presets asan, tsan and fuzz: PLIMSOLL_SANITIZE is the value of -fsanitize=. Include this after
# Dependencies.cmake and before any target of the project.
set(PLIMSOLL_SANITIZE "" CACHE STRING "Value for -fsanitize=, e.g. address,undefined")

# The factor for tests' time limits: sanitized programs take several times as long.
set(PLIMSOLL_PATIENCE 1)
if(PLIMSOLL_SANITIZE)
  set(PLIMSOLL_PATIENCE 4)
endif()
# For TIMEOUT: `seconds`, scaled for this build.
function(plimsoll_timeout out seconds)
  math(EXPR timeout "${seconds} * ${PLIMSOLL_PATIENCE}")
  set(${out} ${timeout} PARENT_SCOPE)
endfunction()

if(NOT PLIMSOLL_SANITIZE)
  return()
endif()

# A finding ends the program, so that no test and no fuzzer can pass with one.
add_compile_options(-fsanitize=${PLIMSOLL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
# g++ then reports initialised variables as uninitialised (absl::Cleanup); its manual warns of that.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
add_link_options(-fsanitize=${PLIMSOLL_SANITIZE})
add_subdirectory(tests/sanitizers)
link_libraries("$<$<AND:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,$<NOT:$<BOOL:$<TARGET_PROPERTY:PLIMSOLL_UNSANITIZED>>>>:sanitizer_parts>")
