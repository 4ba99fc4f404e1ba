#include "systemd/properties.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/cgroup/files.h"
#include "resources/cpu_set.h"

namespace plimsoll::systemd {
namespace {

constexpr char kWeight[] = "cpu.weight";
constexpr char kIdle[] = "cpu.idle";
constexpr char kCpuMax[] = "cpu.max";
constexpr char kIoWeightFile[] = "io.weight";
constexpr char kBfqWeightFile[] = "io.bfq.weight";
constexpr char kIoMax[] = "io.max";
constexpr uint64_t kSecond = 1000000;  // in microseconds
constexpr uint64_t kPercent = kSecond / 100;

// Files with one number, and the least value that systemd takes.
struct NumberFile {
  const char* file;
  const char* property;
  uint64_t least;
};
constexpr NumberFile kNumbers[] = {
    {"memory.min", "MemoryMin", 0},          {"memory.low", "MemoryLow", 0},
    {"memory.high", "MemoryHigh", 1},        {"memory.max", "MemoryMax", 1},
    {"memory.swap.max", "MemorySwapMax", 0}, {"pids.max", "TasksMax", 1}};

struct SetFile {
  const char* file;
  const char* property;
};
constexpr SetFile kSets[] = {{"cpuset.cpus", "AllowedCPUs"}, {"cpuset.mems", "AllowedMemoryNodes"}};
// Keys of io.max.
constexpr SetFile kRates[] = {{"rbps", "IOReadBandwidthMax"},
                              {"wbps", "IOWriteBandwidthMax"},
                              {"riops", "IOReadIOPSMax"},
                              {"wiops", "IOWriteIOPSMax"}};

using Properties = std::vector<Property>;

absl::Status NoNumber(absl::string_view file, absl::string_view text) {
  return absl::InternalError(absl::StrCat(file, " holds \"", text, "\"; that is no number"));
}

absl::StatusOr<uint64_t> ParseNumber(absl::string_view file, absl::string_view text) {
  uint64_t value = 0;
  if (text == "max") return kInfinity;
  if (absl::SimpleAtoi(text, &value)) return value;
  return NoNumber(file, text);
}

std::vector<uint8_t> BytesOf(const resources::CpuSet& set) {
  std::vector<uint8_t> bytes;
  for (const uint32_t one : set.ToVector()) {
    if (bytes.size() <= one / 8) bytes.resize(one / 8 + 1);
    bytes[one / 8] = static_cast<uint8_t>(bytes[one / 8] | (1U << (one % 8)));
  }
  return bytes;
}

// Rounded up, so that systemd's division gives the quota back: a period is at most a second.
uint64_t PerSecond(const linux::CpuMax& max) {
  return (static_cast<uint64_t>(max.quota_us) * kSecond + max.period_us - 1) / max.period_us;
}

absl::Status AddCpuMax(absl::string_view text, Properties* out) {
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::CpuMax max, linux::ParseCpuMax(text));
  if (max.period_us == 0) return NoNumber(kCpuMax, text);
  out->push_back({"CPUQuotaPeriodUSec", max.period_us});
  out->push_back({"CPUQuotaPerSecUSec", max.quota_us < 0 ? kInfinity : PerSecond(max)});
  return absl::OkStatus();
}

void AddDevices(const char* property, std::vector<DeviceValue> values, Properties* out) {
  out->push_back({property, std::vector<DeviceValue>()});
  if (!values.empty()) out->push_back({property, std::move(values)});
}

std::string NodeOf(absl::string_view number) {
  return absl::StrCat("/dev/block/", number);
}

// A weights file: "default 100" or "100", and "8:0 200".
struct Weights {
  std::optional<uint64_t> all;
  std::vector<std::pair<std::string, uint64_t>> devices;
};

absl::StatusOr<Weights> ParseWeights(absl::string_view file, absl::string_view text) {
  Weights weights;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t weight, ParseNumber(file, words.back()));
    if (words.size() == 1 || words[0] == "default") {
      weights.all = weight;
    } else {
      weights.devices.emplace_back(words[0], weight);
    }
  }
  return weights;
}

// Reverses systemd's conversion of its weight (1 to 10000) to BFQ's (1 to 1000): unchanged up to
// 100, an eleventh of the part above.
uint64_t FromBfq(uint64_t weight) {
  return weight <= 100 ? weight : 100 + (weight - 100) * 11;
}
uint64_t ToBfq(uint64_t weight) {
  return weight <= 100 ? weight : 100 + (weight - 100) / 11;
}

// Parses "8:0 rbps=1048576 wbps=max riops=max wiops=120".
absl::Status AddIoMax(absl::string_view text, DiskTest is_disk, Properties* out) {
  std::vector<DeviceValue> rates[std::size(kRates)];
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (!is_disk(words[0])) continue;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(words[i], '=');
      for (size_t rate = 0; rate < std::size(kRates); ++rate) {
        if (parts.first != kRates[rate].file || parts.second == "max") continue;
        PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t value, ParseNumber(kIoMax, parts.second));
        rates[rate].push_back({NodeOf(words[0]), value});
      }
    }
  }
  for (size_t rate = 0; rate < std::size(kRates); ++rate) {
    AddDevices(kRates[rate].property, std::move(rates[rate]), out);
  }
  return absl::OkStatus();
}

// nullopt when the file doesn't exist.
absl::StatusOr<std::optional<std::string>> ReadIfThere(FileReader read, absl::string_view file) {
  absl::StatusOr<std::string> text = read(file);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  return std::string(absl::StripAsciiWhitespace(*text));
}

// For systemd an idle group has weight 0.
absl::Status AddCpuWeight(FileReader read, Properties* out) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto idle, ReadIfThere(read, kIdle));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto weight, ReadIfThere(read, kWeight));
  if (idle == "1") {
    out->push_back({"CPUWeight", uint64_t{0}});
  } else if (weight.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t value, ParseNumber(kWeight, *weight));
    out->push_back({"CPUWeight", value});
  }
  return absl::OkStatus();
}

// systemd has one list of weights for both files: io.weight's, and BFQ's for disks that it lacks.
absl::StatusOr<std::optional<Weights>> WeightsToTell(FileReader read) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto io, ReadIfThere(read, kIoWeightFile));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto bfq, ReadIfThere(read, kBfqWeightFile));
  if (!io.has_value() && !bfq.has_value()) return std::nullopt;
  Weights told;
  if (io.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(told, ParseWeights(kIoWeightFile, *io));
  }
  if (bfq.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Weights of_bfq, ParseWeights(kBfqWeightFile, *bfq));
    if (!io.has_value() && of_bfq.all.has_value()) told.all = FromBfq(*of_bfq.all);
    for (const auto& [number, weight] : of_bfq.devices) {
      const bool has = absl::c_any_of(
          told.devices, [&number = number](const auto& one) { return one.first == number; });
      if (!has) told.devices.emplace_back(number, FromBfq(weight));
    }
  }
  return told;
}

absl::Status AddIoWeight(FileReader read, DiskTest is_disk, Properties* out) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto weights, WeightsToTell(read));
  if (!weights.has_value()) return absl::OkStatus();
  out->push_back({"IOWeight", weights->all.value_or(100)});
  std::vector<DeviceValue> devices;
  for (const auto& [number, weight] : weights->devices) {
    if (is_disk(number)) devices.push_back({NodeOf(number), weight});
  }
  AddDevices("IODeviceWeight", std::move(devices), out);
  return absl::OkStatus();
}

bool HoldsExactly(const linux::CpuMax& max) {
  if (max.quota_us < 0) return true;
  const uint64_t percents = PerSecond(max) / kPercent;
  return percents * kPercent * max.period_us / kSecond == static_cast<uint64_t>(max.quota_us);
}

}  // namespace

const std::vector<std::string>& ControlFiles() {
  static const auto& files = *new std::vector<std::string>([] {
    std::vector<std::string> all = {kWeight, kIdle, kCpuMax, kIoWeightFile, kBfqWeightFile, kIoMax};
    for (const NumberFile& one : kNumbers) all.emplace_back(one.file);
    for (const SetFile& one : kSets) all.emplace_back(one.file);
    return all;
  }());
  return files;
}

bool IsControlFile(absl::string_view file) {
  return absl::c_linear_search(ControlFiles(), file);
}

absl::StatusOr<std::vector<Property>> PropertiesOf(const std::vector<std::string>& files,
                                                   FileReader read, DiskTest is_disk) {
  const auto has = [&](const char* file) { return absl::c_linear_search(files, file); };
  Properties out;
  if (has(kWeight) || has(kIdle)) PLIMSOLL_RETURN_IF_ERROR(AddCpuWeight(read, &out));
  if (has(kIoWeightFile) || has(kBfqWeightFile))
    PLIMSOLL_RETURN_IF_ERROR(AddIoWeight(read, is_disk, &out));
  if (has(kCpuMax)) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto text, ReadIfThere(read, kCpuMax));
    if (text.has_value()) PLIMSOLL_RETURN_IF_ERROR(AddCpuMax(*text, &out));
  }
  if (has(kIoMax)) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto text, ReadIfThere(read, kIoMax));
    if (text.has_value()) PLIMSOLL_RETURN_IF_ERROR(AddIoMax(*text, is_disk, &out));
  }
  for (const NumberFile& one : kNumbers) {
    if (!has(one.file)) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto text, ReadIfThere(read, one.file));
    if (!text.has_value()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t value, ParseNumber(one.file, *text));
    if (value >= one.least) out.push_back({one.property, value});
  }
  for (const SetFile& one : kSets) {
    if (!has(one.file)) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto text, ReadIfThere(read, one.file));
    if (!text.has_value()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto set, resources::CpuSet::Parse(*text));
    out.push_back({one.property, BytesOf(set)});
  }
  return out;
}

std::vector<std::string> InexactFiles(const std::vector<std::string>& files, FileReader read) {
  std::vector<std::string> inexact;
  if (absl::c_linear_search(files, kCpuMax)) {
    const auto text = read(kCpuMax);
    const auto max = text.ok() ? linux::ParseCpuMax(absl::StripAsciiWhitespace(*text))
                               : absl::StatusOr<linux::CpuMax>(text.status());
    if (max.ok() && max->period_us != 0 && !HoldsExactly(*max)) inexact.emplace_back(kCpuMax);
  }
  const bool has_weight =
      absl::c_linear_search(files, kIoWeightFile) || absl::c_linear_search(files, kBfqWeightFile);
  const auto bfq = read(kBfqWeightFile);
  if (!has_weight || !bfq.ok()) return inexact;
  const auto told = WeightsToTell(read);
  const auto wanted = ParseWeights(kBfqWeightFile, *bfq);
  if (!told.ok() || !wanted.ok()) return inexact;
  // Disks are lost for a moment, or for good where systemd has no property for one.
  if (!(*told)->devices.empty() || ToBfq((*told)->all.value_or(100)) != wanted->all.value_or(100)) {
    inexact.emplace_back(kBfqWeightFile);
  }
  const auto io = read(kIoWeightFile);
  const auto own =
      io.ok() ? ParseWeights(kIoWeightFile, *io) : absl::StatusOr<Weights>(io.status());
  if (own.ok() && own->devices.size() < (*told)->devices.size())
    inexact.emplace_back(kIoWeightFile);
  return inexact;
}

}  // namespace plimsoll::systemd
