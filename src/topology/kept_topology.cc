#include "topology/kept_topology.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "topology/topology_file.h"

namespace plimsoll::topology {
namespace {

// The file has three lines, then the topology in YAML.
constexpr char kFile[] = "provider-topology";
constexpr char kBoot[] = "boot ";
constexpr char kProvider[] = "provider ";
constexpr char kGone[] = "gone ";
// Larger than the YAML of a message of 4 MiB.
constexpr size_t kMaxKeptBytes = 64 * 1024 * 1024;

}  // namespace

std::optional<KeptTopology> TopologyKeeper::Load() const {
  const auto text = directory_.Read(kFile, kMaxKeptBytes);
  if (!text.ok()) return std::nullopt;
  const std::vector<absl::string_view> lines = absl::StrSplit(*text, absl::MaxSplits('\n', 3));
  if (lines.size() != 4 || lines[0] != absl::StrCat(kBoot, boot_id_)) return std::nullopt;
  absl::string_view author = lines[1];
  absl::string_view gone = lines[2];
  if (!absl::ConsumePrefix(&author, kProvider) || !absl::ConsumePrefix(&gone, kGone)) {
    return std::nullopt;
  }
  KeptTopology kept = {.author = std::string(author)};
  absl::Time when;
  if (!gone.empty()) {
    if (!absl::ParseTime(absl::RFC3339_full, gone, &when, nullptr)) return std::nullopt;
    kept.gone = when;
  }
  auto topology = ParseTopology(lines[3], directory_.PathOf(kFile));
  if (!topology.ok()) return std::nullopt;
  kept.topology = *std::move(topology);
  return kept;
}

absl::Status TopologyKeeper::Store(const KeptTopology& kept) const {
  const std::string gone = kept.gone ? absl::FormatTime(*kept.gone, absl::UTCTimeZone()) : "";
  return directory_.ReplaceFile(
      kFile, absl::StrCat(kBoot, boot_id_, "\n", kProvider, kept.author, "\n", kGone, gone, "\n",
                          TopologyYaml(kept.topology)));
}

absl::Status TopologyKeeper::Forget() const {
  return directory_.RemoveFile(kFile);
}

}  // namespace plimsoll::topology
