#include "pictures/rdt_masks.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/printable.h"

namespace plimsoll::pictures {
namespace {

using qos::RdtCompiled;
using qos::RdtCompiledPartition;
using qos::RdtRounding;

using RowKind = RdtPictureRow::Kind;

const linux::ResctrlCacheInfo* CacheOf(const linux::ResctrlInfo& machine,
                                       const std::string& resource) {
  if (absl::StartsWith(resource, "L2")) return machine.l2 ? &*machine.l2 : nullptr;
  if (absl::StartsWith(resource, "L3")) return machine.l3 ? &*machine.l3 : nullptr;
  return nullptr;
}

// Rows of the partitions, each followed by its classes.
std::vector<RdtPictureRow> ShareRows(const RdtCompiled& compiled, const std::string& resource,
                                     uint64_t id) {
  std::vector<RdtPictureRow> rows;
  for (size_t i = 0; i < compiled.partitions.size(); ++i) {
    const RdtCompiledPartition& partition = compiled.partitions[i];
    rows.push_back({RowKind::kPartition, Printable(partition.name),
                    partition.schemata.at(resource).at(id), i});
    for (const auto& [name, one] : compiled.classes) {
      if (one.partition != partition.name) continue;
      rows.push_back({RowKind::kClass, name, one.schemata.at(resource).at(id), i});
    }
  }
  return rows;
}

std::vector<RdtPictureRow> CacheRows(const RdtCompiled& compiled, const std::string& resource,
                                     uint64_t id, const linux::ResctrlCacheInfo& cache) {
  std::vector<RdtPictureRow> rows;
  if (cache.shareable_bits != 0) {
    rows.push_back({RowKind::kDevices, "devices too", cache.shareable_bits});
  }
  uint64_t taken = 0;
  for (const RdtPictureRow& row : ShareRows(compiled, resource, id)) {
    taken |= row.value;
    rows.push_back(row);
  }
  if (compiled.classes.count(qos::kRdtRootClass) == 0) {
    rows.push_back({RowKind::kNoClass, "without a class", cache.cbm_mask});
  }
  if (taken != cache.cbm_mask) rows.push_back({RowKind::kFree, "free", cache.cbm_mask & ~taken});
  return rows;
}

std::string Strip(uint64_t mask, int ways) {
  std::string strip;
  for (int way = ways - 1; way >= 0; --way) strip += ((mask >> way) & 1) != 0 ? '#' : '.';
  return strip;
}

std::string Ways(int count) {
  return absl::StrCat(count, count == 1 ? " way" : " ways");
}

std::string PanelText(const RdtPicturePanel& panel) {
  const auto label = [](const RdtPictureRow& row) {
    return absl::StrCat(row.kind == RowKind::kClass ? "    " : "  ", row.label);
  };
  size_t label_width = 0;
  size_t value_width = 0;
  for (const RdtPictureRow& row : panel.rows) {
    label_width = std::max(label_width, label(row).size());
    value_width = std::max(value_width, panel.ValueText(row.value).size());
  }
  std::string text = absl::StrCat(panel.Title(), "\n");
  if (panel.ways > 1) {
    absl::StrAppendFormat(&text, "%*s  %-*d0\n", static_cast<int>(label_width), "", panel.ways - 1,
                          panel.ways - 1);
  }
  for (const RdtPictureRow& row : panel.rows) {
    absl::StrAppendFormat(&text, "%-*s", static_cast<int>(label_width), label(row));
    const std::string value = panel.ValueText(row.value);
    if (panel.ways == 0) {
      absl::StrAppend(&text, "  ", value, "\n");
    } else {
      absl::StrAppendFormat(&text, "  %s  %-*s  %s\n", Strip(row.value, panel.ways),
                            static_cast<int>(value_width), value, Ways(std::popcount(row.value)));
    }
  }
  return text;
}

}  // namespace

std::string RdtPicturePanel::Title() const {
  return absl::StrCat(resource, " of ", ids.size() == 1 ? "cache " : "caches ",
                      qos::CacheIdList(ids),
                      ways == 0 ? (mbps ? ", at most" : ", at most, of all there is")
                                : absl::StrCat(", ", Ways(ways)));
}

std::string RdtPicturePanel::ValueText(uint64_t value) const {
  if (ways > 0) return absl::StrCat("0x", absl::Hex(value));
  if (!mbps) return absl::StrCat(value, "%");
  return value == std::numeric_limits<uint32_t>::max() ? "no limit" : absl::StrCat(value, " MBps");
}

std::vector<RdtPicturePanel> PictureRdt(const RdtCompiled& compiled,
                                        const linux::ResctrlInfo& machine) {
  std::vector<RdtPicturePanel> panels;
  if (compiled.partitions.empty()) return panels;
  for (const auto& [resource, values] : compiled.partitions[0].schemata) {
    const size_t first = panels.size();
    const linux::ResctrlCacheInfo* const cache = CacheOf(machine, resource);
    for (const auto& [id, value] : values) {
      std::vector<RdtPictureRow> rows = cache != nullptr ? CacheRows(compiled, resource, id, *cache)
                                                         : ShareRows(compiled, resource, id);
      const auto alike = std::find_if(panels.begin() + static_cast<ptrdiff_t>(first), panels.end(),
                                      [&](const auto& panel) { return panel.rows == rows; });
      if (alike != panels.end()) {
        alike->ids.push_back(id);
        continue;
      }
      panels.push_back(
          {.resource = resource,
           .ids = {id},
           .ways = cache == nullptr ? 0 : static_cast<int>(std::bit_width(cache->cbm_mask)),
           .mbps = machine.mb && machine.mb->mbps,
           .rows = std::move(rows)});
    }
  }
  return panels;
}

std::string RdtText(const RdtCompiled& compiled, const linux::ResctrlInfo& machine) {
  std::string text;
  for (const RdtPicturePanel& panel : PictureRdt(compiled, machine)) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", PanelText(panel));
  }
  if (text.empty()) text = "Nothing is restricted on the machine.\n";
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    absl::StrAppend(&text, "\n", title, "\n");
    for (const std::string& line : lines) absl::StrAppend(&text, "  ", line, "\n");
  };
  std::vector<std::string> roundings;
  for (const RdtRounding& rounding : compiled.roundings) {
    roundings.push_back(Printable(rounding.Text()));
  }
  list("Rounded:", roundings);
  std::vector<std::string> warnings;
  for (const std::string& warning : compiled.warnings) {
    // Warnings of large roundings are in the list above already.
    if (std::find(roundings.begin(), roundings.end(), warning) == roundings.end()) {
      warnings.push_back(warning);
    }
  }
  list("To know:", warnings);
  return text;
}

}  // namespace plimsoll::pictures
