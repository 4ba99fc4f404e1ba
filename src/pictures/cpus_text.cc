#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "pictures/cpus.h"

namespace plimsoll::pictures {
namespace {

constexpr size_t kCpuColumns = 100;
constexpr char kSharedMark[] = ".";
constexpr char kReservedMark[] = "#";
// Cyan, yellow, green, magenta, blue, red.
constexpr std::array<int, 6> kHolderColours = {36, 33, 32, 35, 34, 31};

// A, B, … Z, AA, AB, …
std::string MarkOf(size_t index) {
  std::string mark;
  for (size_t left = index + 1; left > 0; left = (left - 1) / 26) {
    mark.insert(mark.begin(), static_cast<char>('A' + (left - 1) % 26));
  }
  return mark;
}

std::string Coloured(const std::string& text, size_t holder, bool colour) {
  if (!colour) return text;
  return absl::StrCat("\x1b[", kHolderColours[holder % kHolderColours.size()], "m", text,
                      "\x1b[0m");
}

// Text whose width differs from its size, for the colours in it.
struct Drawn {
  std::string text;
  size_t width = 0;
};

class CpusDrawing {
 public:
  CpusDrawing(const CpuPicture& picture, bool colour) : picture_(picture), colour_(colour) {
    for (size_t i = 0; i < picture.holders.size(); ++i) {
      for (const uint32_t cpu : picture.holders[i].cpus.ToVector()) holders_[cpu] = i;
    }
  }

  std::string Draw() const {
    std::string text;
    // By package, NUMA node and core.
    std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, std::vector<uint32_t>>> groups;
    for (const PlacedCpu& cpu : picture_.cpus) {
      groups[{cpu.package, cpu.numa_node}][cpu.core].push_back(cpu.cpu);
    }
    for (auto& [place, cores] : groups) {
      std::vector<Drawn> drawn;
      for (auto& [core, cpus] : cores) {
        std::sort(cpus.begin(), cpus.end());
        drawn.push_back(DrawCore(cpus));
      }
      AppendGroup(absl::StrCat("package ", place.first, "  NUMA node ", place.second), drawn, text);
    }
    return text + Legend();
  }

 private:
  Drawn DrawCore(const std::vector<uint32_t>& cpus) const {
    Drawn core = {"[", 1};
    for (const uint32_t cpu : cpus) {
      const Drawn cell = DrawCpu(cpu);
      absl::StrAppend(&core.text, core.width > 1 ? " " : "", cell.text);
      core.width += cell.width + (core.width > 1 ? 1 : 0);
    }
    core.text += "]";
    ++core.width;
    return core;
  }

  Drawn DrawCpu(uint32_t cpu) const {
    const auto holder = holders_.find(cpu);
    if (holder != holders_.end()) {
      const std::string text = absl::StrCat(cpu, MarkOf(holder->second));
      return {Coloured(text, holder->second, colour_), text.size()};
    }
    const bool reserved = picture_.reserved.Contains(cpu);
    const bool shared = picture_.shared.Contains(cpu);
    const std::string text = absl::StrCat(cpu, reserved ? kReservedMark
                                               : shared ? kSharedMark
                                                        : " ");
    return {text, text.size()};
  }

  static void AppendGroup(const std::string& title, const std::vector<Drawn>& cores,
                          std::string& text) {
    const std::string indent(title.size(), ' ');
    std::string line = title;
    size_t width = title.size();
    for (const Drawn& core : cores) {
      const bool first = width == title.size();
      if (!first && width + 1 + core.width > kCpuColumns) {
        absl::StrAppend(&text, line, "\n");
        line = indent;
        width = title.size();
      }
      const std::string space = width == title.size() ? "  " : " ";
      absl::StrAppend(&line, space, core.text);
      width += space.size() + core.width;
    }
    absl::StrAppend(&text, line, "\n");
  }

  std::string Legend() const {
    std::string text;
    for (size_t i = 0; i < picture_.holders.size(); ++i) {
      const CpuPicture::Holder& holder = picture_.holders[i];
      absl::StrAppend(&text, Coloured(MarkOf(i), i, colour_), "  ", Printable(holder.name), "  ",
                      holder.cpus.ToString(), "\n");
    }
    if (!picture_.shared.Empty()) {
      absl::StrAppend(&text, kSharedMark, "  shared  ", picture_.shared.ToString(), "\n");
    }
    if (!picture_.reserved.Empty()) {
      absl::StrAppend(&text, kReservedMark, "  reserved  ", picture_.reserved.ToString(), "\n");
    }
    return text;
  }

  const CpuPicture& picture_;
  const bool colour_;
  std::map<uint32_t, size_t> holders_;
};

}  // namespace

std::string CpusText(const CpuPicture& picture, bool colour) {
  return CpusDrawing(picture, colour).Draw();
}

}  // namespace plimsoll::pictures
