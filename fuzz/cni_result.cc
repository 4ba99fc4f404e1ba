// CNI plugins' output, and network configurations: in each version, and in recorded form.
#include <string>

#include "check.h"
#include "network/attachment.h"
#include "network/config.h"
#include "network/result.h"

namespace {

using namespace plimsoll::fuzz;
namespace network = plimsoll::network;

// A parsed result, written, must parse again; the newest version loses nothing.
void CheckResult(absl::string_view text) {
  const absl::StatusOr<network::Result> result = network::ParseResult(text);
  if (!result.ok()) return CheckRefusal(result.status());
  for (const std::string& address : network::PodAddresses(*result, {}, "eth0")) {
    FUZZ_CHECK(network::IsAddress(address), address);
  }
  for (const network::Version version : {network::Version::k031, network::Version::k110}) {
    const std::string written = network::ToJson(*result, version);
    const absl::StatusOr<network::Result> again = network::ParseResult(written);
    // Escaping may need more room than there is.
    if (written.size() > network::kMaxResultBytes) continue;
    FUZZ_CHECK(again.ok(), again.status().ToString());
    if (version == network::Version::k110) FUZZ_CHECK(*again == *result, written);
  }
}

void CheckConfig(absl::string_view text, network::ConfigFormat format) {
  const absl::StatusOr<network::NetworkConfig> config = network::ParseConfig(text, format);
  if (!config.ok()) return CheckRefusal(config.status());
  FUZZ_CHECK(!config->plugins.empty(), config->name);
  for (const network::PluginConfig& plugin : config->plugins) {
    FUZZ_CHECK(plugin.type.find('/') == std::string::npos, plugin.type);
  }
  network::Record record;
  record.config = *config;
  const std::string written = network::ToJson(record);
  if (written.size() > network::kMaxConfigBytes) return;
  const absl::StatusOr<network::Record> again = network::RecordFromJson(written);
  FUZZ_CHECK(again.ok(), again.status().ToString());
  FUZZ_CHECK(network::ToJson(*again) == written, written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text = Text(data, size);
  CheckResult(text);
  FUZZ_CHECK(!network::ParseError(text).ok(), "an error that is none");
  CheckConfig(text, network::ConfigFormat::kConf);
  CheckConfig(text, network::ConfigFormat::kList);
  const absl::StatusOr<network::Record> record = network::RecordFromJson(text);
  if (!record.ok()) CheckRefusal(record.status());
  return 0;
}
