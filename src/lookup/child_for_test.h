// For tests: work in a child, for what a process can't take back (a filter, a user, a namespace).
#ifndef PLIMSOLL_LOOKUP_CHILD_FOR_TEST_H_
#define PLIMSOLL_LOOKUP_CHILD_FOR_TEST_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

namespace plimsoll {

// The result of `work` in a fork of this process: "" for success. A child that dies is named.
inline std::string InChild(const std::function<std::string()>& work) {
  int line[2] = {-1, -1};
  if (pipe(line) != 0) return "no pipe";
  const pid_t child = fork();
  if (child < 0) return "no child";
  if (child == 0) {
    close(line[0]);
    const std::string said = work();
    size_t done = 0;
    while (done < said.size()) {
      const ssize_t n = write(line[1], said.data() + done, said.size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(line[1]);
  std::string said;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = read(line[0], buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR)) {
    if (n > 0) said.append(buffer, static_cast<size_t>(n));
  }
  close(line[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) said += "the child ended with status " + std::to_string(status);
  return said;
}

}  // namespace plimsoll

#endif  // PLIMSOLL_LOOKUP_CHILD_FOR_TEST_H_
