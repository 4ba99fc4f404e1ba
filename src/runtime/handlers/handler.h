// Runtime handlers: what a pod names by RunPodSandboxRequest.runtime_handler, as the configuration
// describes it. A handler of kind `vm` runs a pod in a virtual machine, which has to know how large
// the pod is before there is one (KEP-4112 "User Stories", 1).
#ifndef PLIMSOLL_RUNTIME_HANDLERS_HANDLER_H_
#define PLIMSOLL_RUNTIME_HANDLERS_HANDLER_H_

#include <map>
#include <string>
#include <vector>

#include "yaml/reader.h"

namespace plimsoll::runtime {

enum class Plug { kNone, kHot, kCold };
enum class PortKind { kNone, kRoot, kSwitch };
const char* PortKindName(PortKind kind);  // "root-port", as Kata spells it

struct Handler {
  // The OCI runtime that makes containers; it keeps its state as crun does (crun itself, krun, a
  // program that calls crun). Empty: the daemon's crun.
  std::string program;
  bool is_vm = false;
  bool is_fixed = false;  // what was announced with the sandbox is all that there will ever be
  // How PCI devices come to a virtual machine, and behind which port: of the longest prefix of a
  // device's class ("0302"; "" is the default).
  Plug plug = Plug::kHot;
  std::map<std::string, PortKind> ports = {{"", PortKind::kRoot}};
  // By what is told (AnnotationNames): the annotation that tells it; empty: none does.
  std::map<std::string, std::string> annotations;
  // By resource: the annotation that has its amount.
  std::map<std::string, std::string> resource_annotations;
  std::vector<std::string> update_command;  // empty: none
  int update_timeout_seconds = 10;

  // The annotation for one of AnnotationNames; empty: none.
  std::string AnnotationFor(const std::string& what) const;
  bool operator==(const Handler&) const = default;
};

using HandlerMap = std::map<std::string, Handler>;

// What a handler can be told, with the annotations that containerd and Kata Containers have for it.
const std::map<std::string, std::string>& DefaultAnnotations();

// The configuration's `runtime_handlers`: a mapping of names. Errors go to the reader.
void ReadHandlers(YamlReader& reader, const YAML::Node& node, const std::string& path,
                  HandlerMap* handlers);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_HANDLERS_HANDLER_H_
