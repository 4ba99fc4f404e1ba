// Reservations as documents.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "kubelet/config/reservation.h"
#include "resources/quantity.h"

namespace plimsoll::kubelet {
namespace {

constexpr char kApiVersion[] = "kubelet.config.k8s.io/v1beta1";
constexpr char kKind[] = "KubeletConfiguration";

// Exact: "4Gi", "16303520Ki", or bytes.
std::string Amount(uint64_t bytes) {
  return resources::Quantity::FromInt(static_cast<int64_t>(bytes),
                                      resources::Quantity::Format::kBinarySi)
      .Canonical();
}

void AppendCpus(const Reservation& reservation, std::string* text) {
  if (!reservation.cpus.empty()) {
    absl::StrAppend(text,
                    "# CPUs outside of the pods' part. kubelet refuses systemReservedCgroup and\n"
                    "# kubeReservedCgroup beside them.\n",
                    "reservedSystemCPUs: \"", reservation.cpus, "\"\n");
  }
  if (reservation.static_cpus) {
    absl::StrAppend(text, "cpuManagerPolicy: static\n",
                    "# Else containers without CPUs of their own run on the reserved ones too.\n",
                    "cpuManagerPolicyOptions:\n  strict-cpu-reservation: \"true\"\n");
  }
}

void AppendMemory(const Reservation& reservation, std::string* text) {
  absl::StrAppend(text,
                  "# With kubeReserved and evictionHard, all memory outside of the pods' part.\n"
                  "systemReserved:\n");
  if (reservation.cpu_count > 0) {
    absl::StrAppend(text, "  cpu: \"", reservation.cpu_count, "\"\n");
  }
  absl::StrAppend(text, "  memory: \"", Amount(reservation.system_bytes), "\"\n");
  if (!reservation.static_memory) return;
  absl::StrAppend(text, "memoryManagerPolicy: Static\n",
                  "# Their sum is that of systemReserved, kubeReserved and evictionHard.\n",
                  "reservedMemory:\n");
  for (const auto& [node, bytes] : reservation.node_bytes) {
    absl::StrAppend(text, "- numaNode: ", node, "\n  limits:\n    memory: \"", Amount(bytes),
                    "\"\n");
  }
}

}  // namespace

std::string ToDropIn(const Reservation& reservation) {
  std::string text =
      "# Made by `plimsoll kubelet-config` for this machine as it is: renew it when its CPUs,\n"
      "# memory or plimsolld's nodeResources change. A file *.conf in kubelet's --config-dir.\n";
  for (const std::string& note : reservation.notes) absl::StrAppend(&text, "# NOTE: ", note, "\n");
  absl::StrAppend(&text, "apiVersion: ", kApiVersion, "\nkind: ", kKind,
                  "\ncontainerRuntimeEndpoint: \"", reservation.endpoint, "\"\n");
  AppendCpus(reservation, &text);
  AppendMemory(reservation, &text);
  return text;
}

std::string ToJson(const Reservation& reservation) {
  nlohmann::ordered_json document = {{"apiVersion", kApiVersion},
                                     {"kind", kKind},
                                     {"containerRuntimeEndpoint", reservation.endpoint}};
  if (!reservation.cpus.empty()) document["reservedSystemCPUs"] = reservation.cpus;
  if (reservation.static_cpus) {
    document["cpuManagerPolicy"] = "static";
    document["cpuManagerPolicyOptions"] = {{"strict-cpu-reservation", "true"}};
  }
  nlohmann::ordered_json& system = document["systemReserved"];
  if (reservation.cpu_count > 0) system["cpu"] = absl::StrCat(reservation.cpu_count);
  system["memory"] = Amount(reservation.system_bytes);
  if (reservation.static_memory) {
    document["memoryManagerPolicy"] = "Static";
    document["reservedMemory"] = nlohmann::ordered_json::array();
    for (const auto& [node, bytes] : reservation.node_bytes) {
      document["reservedMemory"].push_back(
          {{"numaNode", node}, {"limits", {{"memory", Amount(bytes)}}}});
    }
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace plimsoll::kubelet
