// resctrlfs-member: a process for tests, which forks and makes threads on demand. A line in, a line
// out:
//
//   fork            the child's id; the child sleeps until its parent ends
//   thread          the new thread's id; it sleeps
//   end ID          kills and collects a child: "ended"
//   storm           from now on forks children that end at once, over and over: "storm"
//   join PATH       a new thread writes "0" to PATH and sleeps: its id and the errno, "17 0"
//   become UID      gives up root: "done"
//   write PATH TEXT "0", or the errno; a newline is added
//
// Ends at the end of its input, together with its forks.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

int WriteFile(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = write(fd, text.data(), text.size()) < 0 ? errno : 0;
  close(fd);
  return error;
}

void Sleep() {
  while (true) pause();
}

pid_t Fork() {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    Sleep();
  }
  return child;
}

// Runs `first` on a thread that sleeps for ever after it.
template <typename First>
auto OnNewThread(const First& first) {
  std::promise<decltype(first())> result;
  auto future = result.get_future();
  std::thread([&result, first] {
    result.set_value(first());
    Sleep();
  }).detach();
  return future.get();
}

void Storm() {
  std::thread([] {
    while (true) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      if (child > 0) waitpid(child, nullptr, 0);
    }
  }).detach();
}

}  // namespace

int main() {
  std::vector<pid_t> children;
  char line[4096];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    char* rest = line;
    const std::string verb = strsep(&rest, " ");
    if (verb == "fork") {
      children.push_back(Fork());
      std::printf("%d\n", children.back());
    } else if (verb == "thread") {
      std::printf("%d\n", OnNewThread([] { return gettid(); }));
    } else if (verb == "end") {
      const pid_t child = std::atoi(rest);
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      std::erase(children, child);
      std::printf("ended\n");
    } else if (verb == "storm") {
      Storm();
      std::printf("storm\n");
    } else if (verb == "join") {
      const std::string path = rest;
      const auto [thread, error] =
          OnNewThread([path] { return std::pair(gettid(), WriteFile(path.c_str(), "0\n")); });
      std::printf("%d %d\n", thread, error);
    } else if (verb == "become") {
      const uid_t uid = static_cast<uid_t>(std::atoi(rest));
      std::printf("%s\n", setresuid(uid, uid, uid) == 0 ? "done" : "failed");
    } else if (verb == "write") {
      const char* path = strsep(&rest, " ");
      std::printf("%d\n", WriteFile(path, std::string(rest) + "\n"));
    }
    std::fflush(stdout);
  }
  // The process that inherits zombies may take seconds to reap them, and they keep their cgroup.
  for (pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return 0;
}
