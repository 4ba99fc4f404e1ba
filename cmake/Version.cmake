# PLIMSOLL_BUILD: what --version prints after the program's name. A release build names the commit; other
# builds don't, because their configuration isn't repeated with each commit.
set(PLIMSOLL_BUILD "${PROJECT_VERSION}")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/commit commit LIMIT_COUNT 1)
  if(commit MATCHES "Format")
    execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} describe --always --abbrev=12 --dirty=+changes --exclude=*
      OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  string(REGEX MATCH "^[0-9a-f]+" hash "${commit}")
  string(SUBSTRING "${hash}" 0 12 hash)
  if(hash)
    string(REGEX MATCH "[+].*$" changes "${commit}")
    string(APPEND PLIMSOLL_BUILD " (commit ${hash}${changes})")
  endif()
endif()
