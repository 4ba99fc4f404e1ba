#include "topology/machine/hwloc_xml.h"

#include <cctype>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::topology {
namespace {

// <object ...>, </object> or <info ... />.
struct Tag {
  size_t begin = 0;
  size_t end = 0;  // after its >
  absl::string_view name;
  bool closes = false;
  bool is_empty = false;  // />
};

// The position after the > of a tag that begins at `begin`; npos without one. Values may hold a >.
size_t EndOfTag(absl::string_view xml, size_t begin) {
  char quote = '\0';
  for (size_t i = begin; i < xml.size(); ++i) {
    if (quote != '\0') {
      if (xml[i] == quote) quote = '\0';
    } else if (xml[i] == '"' || xml[i] == '\'') {
      quote = xml[i];
    } else if (xml[i] == '>') {
      return i + 1;
    }
  }
  return absl::string_view::npos;
}

// The next tag from `from` on; skips declarations (<?xml, <!DOCTYPE).
std::optional<Tag> NextTag(absl::string_view xml, size_t from) {
  while (true) {
    Tag tag;
    tag.begin = xml.find('<', from);
    if (tag.begin == absl::string_view::npos) return std::nullopt;
    tag.end = EndOfTag(xml, tag.begin);
    if (tag.end == absl::string_view::npos) return std::nullopt;
    from = tag.end;
    size_t name = tag.begin + 1;
    if (xml[name] == '?' || xml[name] == '!') continue;
    tag.closes = xml[name] == '/';
    if (tag.closes) ++name;
    size_t end = name;
    while (std::isalnum(static_cast<unsigned char>(xml[end])) != 0 || xml[end] == '_') ++end;
    tag.name = xml.substr(name, end - name);
    tag.is_empty = xml[tag.end - 2] == '/';
    return tag;
  }
}

// The position after the end of the element that `tag` begins; nullopt without an end.
std::optional<size_t> EndOfElement(absl::string_view xml, Tag tag) {
  size_t depth = 0;
  while (true) {
    if (tag.closes && depth == 0) return std::nullopt;
    if (tag.closes) --depth;
    if (!tag.closes && !tag.is_empty) ++depth;
    if (depth == 0) return tag.end;
    const auto next = NextTag(xml, tag.end);
    if (!next) return std::nullopt;
    tag = *next;
  }
}

absl::Status NotXml() {
  return absl::InvalidArgumentError("the XML of the topology is not well-formed");
}

// True for elements after the root object that are needed: the distances of NUMA nodes and the
// kinds of CPUs.
bool IsKept(absl::string_view name, absl::string_view element) {
  if (name == "distances2") return absl::StrContains(element, "type=\"NUMANode\"");
  return name == "cpukind" || name == "support";
}

}  // namespace

uint32_t HwlocXmlFormat(absl::string_view xml) {
  const auto tag = NextTag(xml, 0);
  if (!tag || tag->name != "topology") return 0;
  const absl::string_view text = xml.substr(tag->begin, tag->end - tag->begin);
  constexpr absl::string_view kVersion = "version=\"";
  const size_t at = text.find(kVersion);
  if (at == absl::string_view::npos) return 0;
  const absl::string_view version = text.substr(at + kVersion.size());
  uint32_t format = 0;
  return absl::SimpleAtoi(version.substr(0, version.find_first_of(".\"")), &format) ? format : 0;
}

absl::StatusOr<std::string> HwlocXmlAsFormat2(absl::string_view xml) {
  const auto topology = NextTag(xml, 0);
  if (!topology) return NotXml();
  const auto root = NextTag(xml, topology->end);
  if (!root || root->name != "object" || root->closes || root->is_empty) return NotXml();
  const auto end_of_root = EndOfElement(xml, *root);
  if (!end_of_root) return NotXml();
  std::string infos, others;
  size_t at = *end_of_root;
  for (auto tag = NextTag(xml, at); tag && !tag->closes; tag = NextTag(xml, at)) {
    const auto end = EndOfElement(xml, *tag);
    if (!end) return NotXml();
    const absl::string_view element = xml.substr(tag->begin, *end - tag->begin);
    if (tag->name == "info") absl::StrAppend(&infos, element, "\n");
    if (IsKept(tag->name, element)) absl::StrAppend(&others, element, "\n");
    at = *end;
  }
  return absl::StrCat(xml.substr(0, topology->begin), "<topology version=\"2.0\">\n",
                      xml.substr(root->begin, root->end - root->begin), "\n", infos,
                      xml.substr(root->end, *end_of_root - root->end), "\n", others,
                      "</topology>\n");
}

}  // namespace plimsoll::topology
