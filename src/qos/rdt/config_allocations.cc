#include "qos/rdt/config_allocations.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "qos/rdt/values.h"

namespace plimsoll::qos {
namespace {

// The largest cache id of containerd and CRI-O, which have 8 bits and a sign for it.
constexpr uint64_t kMostIdElsewhere = 127;

// A range of one, or spaces: containerd and CRI-O refuse such a list.
bool HasOddRanges(absl::string_view list) {
  if (absl::StrContains(list, ' ')) return true;
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    if (absl::StrContains(part, '-') && ends.first == ends.second) return true;
  }
  return false;
}

// The place of a share decides how containerd and CRI-O read a number without quotes.
enum class SharePlace {
  kShort,  // `l3Allocation: 3`, `{all: 3}`: they refuse it
  kField,  // `{unified: 3}`: they take the number's text for a list of bits
};

// "0x3" read as a number is 3, which as a list names bit 3 alone.
std::string WhatOthersMakeOf(const std::string& number, SharePlace place) {
  if (place == SharePlace::kShort) return "containerd and CRI-O refuse it";
  uint64_t bit = 0;
  if (!absl::SimpleAtoi(number, &bit) || bit > 63) {
    return absl::StrCat("containerd and CRI-O read the number ", number,
                        " and refuse it, as there is no such bit");
  }
  return absl::StrCat("containerd and CRI-O read the number ", number, ", so bit ", number,
                      " alone, the mask 0x", absl::Hex(uint64_t{1} << bit));
}

class AllocationReader {
 public:
  AllocationReader(YamlReader& reader, RdtOwner owner) : reader_(reader), owner_(owner) {}

  std::optional<RdtCacheAllocations> Cache(ClassFields& fields, const std::string& key) {
    const auto node = Value(fields, key);
    if (!node) return std::nullopt;
    const std::string path = fields.PathOf(key);
    RdtCacheAllocations parsed{.where = reader_.Where(*node, path)};
    if (node->IsScalar()) {
      parsed.all = OneCache(*node, path);
    } else if (!node->IsNull()) {
      ById<RdtCacheAllocation>(*node, path, parsed,
                               [this](const YAML::Node& value, const std::string& value_path) {
                                 return OneCache(value, value_path);
                               });
    }
    return parsed;
  }

  std::optional<RdtBandwidthAllocations> Bandwidth(ClassFields& fields, const std::string& key) {
    const auto node = Value(fields, key);
    if (!node) return std::nullopt;
    const std::string path = fields.PathOf(key);
    RdtBandwidthAllocations parsed{.where = reader_.Where(*node, path)};
    if (node->IsMap()) {
      ById<RdtBandwidthAllocation>(*node, path, parsed,
                                   [this](const YAML::Node& value, const std::string& value_path) {
                                     return OneBandwidth(value, value_path);
                                   });
    } else if (!node->IsNull()) {
      parsed.all = OneBandwidth(*node, path);
    }
    return parsed;
  }

 private:
  // To containerd and CRI-O a key without a value means 100%, which a class can't have where its
  // partition lacks the key.
  std::optional<YAML::Node> Value(ClassFields& fields, const std::string& key) {
    const auto node = fields.GetOrNull(key);
    if (node && node->IsNull()) {
      reader_.Note(*node, fields.PathOf(key), "has no value, so it counts as 100%");
    }
    return node;
  }

  // The keys of `node` are cache ids ("all", "0", "0-1,4").
  template <typename Allocation, typename Read>
  void ById(const YAML::Node& node, const std::string& path, RdtByCacheId<Allocation>& out,
            Read read) {
    struct Entry {
      std::vector<uint64_t> ids;
      YAML::Node key_node;
      Allocation allocation;
    };
    std::vector<Entry> entries;
    for (const ClassItem& item : ItemsOf(reader_, node, path, KeyReading::kValue)) {
      const std::string item_path = absl::StrCat(path, ".", item.key);
      Allocation allocation = read(item.value, item_path);
      if (item.key == "all") {
        out.all = std::move(allocation);
      } else if (item.key.empty()) {
        reader_.Note(item.key_node, path, "the key \"\" names no cache id");
      } else if (const auto ids = ParseRdtCacheIds(item.key); ids.ok()) {
        NoteOddIds(item, *ids, path);
        entries.push_back({*ids, item.key_node, std::move(allocation)});
      } else {
        reader_.Fail(item.key_node, item_path, ids.status().message());
      }
    }
    // Where two keys name an id, containerd and CRI-O take either at random; here the key that
    // names fewer ids counts, else the later.
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.ids.size() > b.ids.size(); });
    for (const Entry& entry : entries) {
      std::vector<uint64_t> again;
      for (const uint64_t id : entry.ids) {
        if (!out.by_id.insert_or_assign(id, entry.allocation).second) again.push_back(id);
      }
      if (again.empty()) continue;
      reader_.Note(entry.key_node, path,
                   absl::StrCat("cache id ", absl::StrJoin(again, ","),
                                " is also named by another key of this mapping; this one counts "
                                "here, but either may for containerd and CRI-O"));
    }
  }

  void NoteOddIds(const ClassItem& item, const std::vector<uint64_t>& ids,
                  const std::string& path) {
    if (HasOddRanges(item.key)) {
      reader_.Note(item.key_node, path,
                   absl::StrCat("the cache ids \"", item.key, "\" are refused by containerd and ",
                                "CRI-O: write an id alone, and no spaces"));
    }
    if (ids.back() > kMostIdElsewhere) {
      reader_.Note(item.key_node, path,
                   absl::StrCat("the cache ids \"", item.key, "\" are refused by containerd and ",
                                "CRI-O, which know those up to ", kMostIdElsewhere));
    }
  }

  // "60%", or {unified, code, data}.
  RdtCacheAllocation OneCache(const YAML::Node& node, const std::string& path) {
    RdtCacheAllocation parsed;
    if (node.IsScalar()) {
      parsed.unified = Share(node, path, SharePlace::kShort);
      return parsed;
    }
    ClassFields fields(reader_, node, path);
    const auto unified = Field(fields, "unified");
    parsed.code = Field(fields, "code");
    parsed.data = Field(fields, "data");
    if (unified) {
      parsed.unified = *unified;
    } else {
      reader_.Fail(node, path,
                   "\"unified\" is missing: it counts wherever code and data are not told apart");
    }
    if (parsed.code.has_value() != parsed.data.has_value()) {
      reader_.Fail(node, path,
                   absl::StrCat("\"", parsed.code ? "data" : "code",
                                "\" is missing: \"code\" and "
                                "\"data\" come together or not at all"));
    }
    fields.PassOverUnknown();
    return parsed;
  }

  // An empty value counts as none.
  std::optional<RdtCacheShare> Field(ClassFields& fields, const std::string& name) {
    const auto node = fields.Get(name);
    if (!node || (node->IsScalar() && node->Scalar().empty())) return std::nullopt;
    return Share(*node, fields.PathOf(name), SharePlace::kField);
  }

  RdtCacheShare Share(const YAML::Node& node, const std::string& path, SharePlace place) {
    const auto text = ShareText(node, path, place);
    if (!text) return {};
    auto share = ParseRdtCacheShare(*text);
    if (!share.ok()) {
      reader_.Fail(node, path, share.status().message());
      return {};
    }
    NotePercent(node, path, *share);
    if (share->kind == RdtCacheShare::Kind::kMask && HasOddRanges(share->text)) {
      reader_.Note(node, path,
                   absl::StrCat("the bits \"", share->text, "\" are refused by containerd and ",
                                "CRI-O: write a bit alone, and no spaces"));
    }
    share->where = reader_.Where(node, path);
    return *std::move(share);
  }

  // A mask without quotes is a number to YAML, and other bits to containerd and CRI-O; its author
  // means a mask.
  std::optional<std::string> ShareText(const YAML::Node& node, const std::string& path,
                                       SharePlace place) {
    const ClassScalar scalar = ScalarOf(node);
    if (scalar.kind != ClassScalar::Kind::kNumber) return TextOf(reader_, node, path);
    const std::string written = absl::AsciiStrToLower(node.Scalar());
    const bool is_mask = absl::StartsWith(written, "0x");
    const std::string& text = is_mask ? written : scalar.text;
    if (is_mask || place == SharePlace::kShort) {
      reader_.Note(
          node, path,
          absl::StrCat(node.Scalar(), " without quotes is read as ",
                       is_mask ? "the mask " : "the list of bits ", text, ", but ",
                       WhatOthersMakeOf(scalar.text, place), "; write \"", text, "\" with quotes"));
    } else if (text != node.Scalar()) {
      reader_.Note(node, path,
                   absl::StrCat(node.Scalar(), " without quotes is the number ", text, ", so bit ",
                                text, " alone; write it with quotes"));
    }
    return text;
  }

  void NotePercent(const YAML::Node& node, const std::string& path, const RdtCacheShare& share) {
    using Kind = RdtCacheShare::Kind;
    if (owner_ == RdtOwner::kPartition && share.kind == Kind::kPercentRange) {
      reader_.Note(node, path,
                   absl::StrCat("\"", share.text, "\": a partition can't have a range of ",
                                "percentages; it is an error where this share counts"));
    }
    if (share.kind == Kind::kMask || share.high_percent > 0) return;
    reader_.Note(node, path,
                 absl::StrCat("\"", share.text, "\" is nothing at all; ",
                              owner_ == RdtOwner::kClass
                                  ? "it is an error where this share counts: 1% is the least"
                                  : "the partition gets the fewest ways that a mask can have"));
  }

  // [50%, 1000MBps], or one of them.
  RdtBandwidthAllocation OneBandwidth(const YAML::Node& node, const std::string& path) {
    RdtBandwidthAllocation parsed{.where = reader_.Where(node, path)};
    const auto read = [&](const YAML::Node& item, const std::string& item_path) {
      const auto text = TextOf(reader_, item, item_path);
      if (!text) return;
      const absl::Status status = ParseRdtBandwidth(*text, parsed);
      if (!status.ok()) unused_.push_back({item, item_path, std::string(status.message())});
    };
    unused_.clear();
    if (node.IsScalar()) {
      reader_.Note(node, path,
                   absl::StrCat("containerd and CRI-O refuse a bandwidth that is no list; write [",
                                node.Scalar(), "]"));
      read(node, path);
    } else if (!node.IsNull()) {
      reader_.Each(node, path, read);
    }
    CheckBandwidth(node, path, parsed);
    return parsed;
  }

  void CheckBandwidth(const YAML::Node& node, const std::string& path,
                      const RdtBandwidthAllocation& parsed) {
    const bool is_any = parsed.percent || parsed.mbps;
    for (const std::string& error : {parsed.percent_error, parsed.mbps_error}) {
      if (error.empty()) continue;
      if (is_any) {
        reader_.Note(node, path, absl::StrCat(error, "; an error where this unit counts"));
      } else {
        reader_.Fail(node, path, error);
      }
    }
    const bool has_error = !parsed.percent_error.empty() || !parsed.mbps_error.empty();
    for (const Unused& each : unused_) {
      if (is_any || has_error) {
        const ClassScalar::Kind kind = ScalarOf(each.node).kind;
        const bool is_no_text =
            kind == ClassScalar::Kind::kNumber || kind == ClassScalar::Kind::kBool;
        reader_.Note(
            each.node, each.path,
            absl::StrCat(each.why, ", and is passed over",
                         is_no_text ? "; containerd and CRI-O refuse the file for it" : ""));
      } else {
        reader_.Fail(each.node, each.path, each.why);
      }
    }
    if (!is_any && !has_error && unused_.empty() && (node.IsNull() || node.size() == 0)) {
      reader_.Fail(node, path, "is empty; write [50%] or [50%, 1000MBps]");
    }
  }

  struct Unused {
    YAML::Node node;
    std::string path;
    std::string why;
  };

  YamlReader& reader_;
  const RdtOwner owner_;
  std::vector<Unused> unused_;  // values of the list being read
};

}  // namespace

RdtAllocations ReadRdtAllocations(YamlReader& reader, ClassFields& fields, RdtOwner owner) {
  AllocationReader allocations(reader, owner);
  RdtAllocations parsed;
  parsed.l2 = allocations.Cache(fields, "l2Allocation");
  parsed.l3 = allocations.Cache(fields, "l3Allocation");
  parsed.mb = allocations.Bandwidth(fields, "mbAllocation");
  return parsed;
}

}  // namespace plimsoll::qos
