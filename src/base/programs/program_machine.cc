#include "base/programs/program_machine.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/regular_file.h"
#include "base/unique_fd.h"

namespace plimsoll {
namespace {

// The kinds of header (elf(5)) are alike as far as e_machine, in either byte order.
constexpr size_t kMachineAt = offsetof(Elf64_Ehdr, e_machine);
constexpr size_t kHeadSize = kMachineAt + sizeof(uint16_t);

std::string MachineIn(absl::string_view head) {
  const bool big = head[EI_DATA] == ELFDATA2MSB;
  const int first = static_cast<unsigned char>(head[kMachineAt]);
  const int second = static_cast<unsigned char>(head[kMachineAt + 1]);
  const int machine = big ? (first << 8) | second : (second << 8) | first;
  if (machine == EM_PPC64) return big ? "ppc64" : "ppc64le";
  constexpr std::array<std::pair<int, const char*>, 6> kNames = {{{EM_X86_64, "x86_64"},
                                                                  {EM_AARCH64, "aarch64"},
                                                                  {EM_386, "i686"},
                                                                  {EM_ARM, "arm"},
                                                                  {EM_S390, "s390x"},
                                                                  {EM_RISCV, "riscv64"}}};
  for (const auto& [number, name] : kNames) {
    if (number == machine) return name;
  }
  return absl::StrCat("machine ", machine, " of elf.h");
}

}  // namespace

std::string WhyNoProgram(const std::string& path) {
  std::array<char, kHeadSize> buffer = {};
  const UniqueFd file(open(path.c_str(), kOpenToLook | O_CLOEXEC));
  const ssize_t n = file.valid() ? pread(file.get(), buffer.data(), buffer.size(), 0) : -1;
  if (n < 0) return "it is damaged or for another architecture";
  if (n == 0) return "it is empty";
  const absl::string_view head(buffer.data(), static_cast<size_t>(n));
  if (absl::StartsWith(head, "#!")) return "its first line names no program for this machine";
  if (head.size() < kHeadSize || !absl::StartsWith(head, ELFMAG)) {
    return "it is neither a program nor a script that begins with #!";
  }
  utsname own = {};
  uname(&own);
  const std::string machine = MachineIn(head);
  if (machine == own.machine) return absl::StrCat("it is for ", machine, " and damaged");
  return absl::StrCat("it is for ", machine, ", and this machine is ", own.machine);
}

}  // namespace plimsoll
