#include "monitor/launch.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "monitor/byte_variables.h"
#include "monitor/fail.h"
#include "monitor/make_below.h"
#include "monitor/root_filesystem.h"
#include "monitor/volumes.h"

namespace plimsoll::monitor {
namespace {

void Require(const LaunchPlan& plan, const char* key) {
  if (plan.Has(key)) return;
  errno = EINVAL;
  Fail("the plan lacks", key);
}

void BindAll(const LaunchPlan& plan) {
  const char* from = plan.Get("bind");
  const char* over = plan.Get("over");
  for (; from != nullptr && over != nullptr;
       from = plan.Next("bind", from), over = plan.Next("over", over)) {
    if (mount(from, over, nullptr, MS_BIND, nullptr) != 0) Fail("bind over", over);
  }
}

void WriteOomScoreAdj(const char* value) {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, value, strlen(value)) < 0) Fail("set oom_score_adj to", value);
  close(fd);
}

// `value`: "soft:hard".
bool SetLimit(int resource, const char* value) {
  char* end = nullptr;
  rlimit limit = {};
  limit.rlim_cur = strtoull(value, &end, 10);
  if (*end == ':') limit.rlim_max = strtoull(end + 1, &end, 10);
  if (*end != '\0') errno = EINVAL;
  const auto which = static_cast<__rlimit_resource>(resource);
  if (*end != '\0') return false;
  if (setrlimit(which, &limit) == 0) return true;
  // The daemon may have had more when it made the container: a command gets what there is.
  rlimit own = {};
  if (errno != EPERM || getrlimit(which, &own) != 0) return false;
  if (limit.rlim_cur > own.rlim_max) limit.rlim_cur = own.rlim_max;
  if (limit.rlim_max > own.rlim_max) limit.rlim_max = own.rlim_max;
  return setrlimit(which, &limit) == 0;
}

void SetLimits(const LaunchPlan& plan) {
  const char* value = plan.Get("nofile");
  if (value != nullptr && !SetLimit(RLIMIT_NOFILE, value)) Fail("limit descriptors to", value);
  for (value = plan.Get("rlimit"); value != nullptr; value = plan.Next("rlimit", value)) {
    char* end = nullptr;
    const long resource = strtol(value, &end, 10);
    if (*end != ':') errno = EINVAL;
    if (*end != ':' || !SetLimit(static_cast<int>(resource), end + 1)) Fail("set limit", value);
  }
}

// The OCI runtime and the container's init, its child, inherit the policy.
void SetMemoryPolicy(const char* value) {
  static unsigned long long mask[16] = {};  // of 1,024 nodes, Linux' most
  constexpr unsigned long kWords = sizeof(mask) / sizeof(mask[0]);
  char* end = nullptr;
  const long mode = strtol(value, &end, 10);
  unsigned long words = 0;
  while ((*end == ':' || *end == ',') && words < kWords) {
    mask[words++] = strtoull(end + 1, &end, 16);
  }
  if (*end != '\0') errno = EINVAL;
  // The kernel takes the number of bits plus one.
  const unsigned long bits = words * 64 + (words > 0 ? 1 : 0);
  if (*end != '\0' || syscall(SYS_set_mempolicy, mode, words > 0 ? mask : nullptr, bits) != 0) {
    Fail("set the memory policy", value);
  }
}

// Puts this process into the group, and with it all that it becomes and starts.
void Enter(const char* path) {
  char pid[16];
  const int length = snprintf(pid, sizeof(pid), "%d", getpid());
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, pid, static_cast<size_t>(length)) != length) Fail("enter", path);
  close(fd);
}

Owner OwnerOf(const char* value) {
  if (value == nullptr) return {};
  char* end = nullptr;
  Owner owner;
  owner.uid = static_cast<uid_t>(strtoul(value, &end, 10));
  if (*end == ':') owner.gid = static_cast<gid_t>(strtoul(end + 1, &end, 10));
  if (*end == '\0') return owner;
  errno = EINVAL;
  Fail("understand owner", value);
}

bool IsOfThePath(int error) {
  return error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
}

void MakeDeclaredVolumes(const LaunchPlan& plan, int root, const Owner& owner) {
  for (const char* path = plan.Get("data"); path != nullptr; path = plan.Next("data", path)) {
    if (!MakeBelow(root, path, Kind::kDirectory, Making::kAll, owner) && !IsOfThePath(errno)) {
      Fail("make the image's VOLUME", path);
    }
    ExposeDirectory(root, path, plan.Get("stage"), plan.Next("as", path, plan.Next("data", path)));
  }
}

void MakeMountPoints(const LaunchPlan& plan, const char* key, Kind kind, int root,
                     const Owner& owner) {
  for (const char* path = plan.Get(key); path != nullptr; path = plan.Next(key, path)) {
    // The path may be another one once volumes are mounted on the way, so the OCI runtime judges
    // it.
    if (!MakeBelow(root, path, kind, Making::kBehindLinks, owner) && !IsOfThePath(errno)) {
      Fail("make the place of the mount at", path);
    }
  }
}

void FillRootFilesystem(const LaunchPlan& plan, const char* target) {
  const int root = open(target, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) Fail("open", target);
  const Owner owner = OwnerOf(plan.Get("owner"));
  if (const char* directory = plan.Get("mkdir"); directory != nullptr) {
    // The OCI runtime reports a failure.
    MakeBelow(root, directory, Kind::kDirectory, Making::kAll, owner);
  }
  MakeDeclaredVolumes(plan, root, owner);
  MakeMountPoints(plan, "directory", Kind::kDirectory, root, owner);
  MakeMountPoints(plan, "file", Kind::kFile, root, owner);
  close(root);
}

// Gives the OCI runtime the descriptors that byte_variables.h describes, in place of what this
// process had there.
void PassVariables(const char* program_path, const char* text_path) {
  const int program = open(program_path, O_RDONLY | O_CLOEXEC);
  if (program < 0) Fail("open the program for variables", program_path);
  const int text = open(text_path, O_RDONLY | O_CLOEXEC);
  if (text < 0) Fail("open the variables", text_path);
  constexpr int kBeyond = kVariablesDescriptor + 1;
  const int held_program = fcntl(program, F_DUPFD_CLOEXEC, kBeyond);
  const int held_text = fcntl(text, F_DUPFD_CLOEXEC, kBeyond);
  if (held_program < 0 || held_text < 0 || dup2(held_program, kVariablesProgramDescriptor) < 0 ||
      dup2(held_text, kVariablesDescriptor) < 0) {
    Fail("pass on", "the variables");
  }
}

}  // namespace

void Launch(const LaunchPlan& plan, char** argv) {
  for (const char* key : {"runtime", "root"}) Require(plan, key);
  const char* target = plan.Get("target");
  if (target != nullptr) {
    for (const char* key : {"lower", "upper", "work"}) Require(plan, key);
  }
  if (plan.Has("userns")) Require(plan, "stage");
  const char* path = plan.Get("private");
  if (path != nullptr && mount(nullptr, path, nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    Fail("make private", path);
  }
  BindAll(plan);
  MountVolumes(plan);
  if (target != nullptr) {
    MountRootFilesystem(plan);
    FillRootFilesystem(plan, target);
  }
  if (const char* value = plan.Get("oom"); value != nullptr) WriteOomScoreAdj(value);
  SetLimits(plan);
  if (const char* value = plan.Get("mempolicy"); value != nullptr) SetMemoryPolicy(value);
  if (plan.Has("session") && (setsid() < 0 || ioctl(0, TIOCSCTTY, 0) != 0)) {
    Fail("begin a session with", plan.Get("session"));
  }
  for (const char* file = plan.Get("enter"); file != nullptr; file = plan.Next("enter", file)) {
    Enter(file);
  }
  if (const char* descriptor = plan.Get("entered"); descriptor != nullptr) {
    fcntl(atoi(descriptor), F_SETFD, FD_CLOEXEC);
  }

  if (const char* variables = plan.Get("variables"); variables != nullptr) {
    Require(plan, "variables-program");
    PassVariables(plan.Get("variables-program"), variables);
  }

  static char root[4096];
  snprintf(root, sizeof(root), "--root=%s", plan.Get("root"));
  // krun differs from crun by its name alone.
  static char crun[] = "crun";
  const char* name = plan.Get("name");
  argv[0] = name == nullptr ? crun : const_cast<char*>(name);
  argv[1] = root;
  execv(plan.Get("runtime"), argv);
  Fail("execute", plan.Get("runtime"));
}

}  // namespace plimsoll::monitor
