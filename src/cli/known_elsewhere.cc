#include "cli/known_elsewhere.h"

namespace plimsoll::cli {
namespace {

struct Instead {
  absl::string_view command;
  absl::string_view advice;
};

constexpr Instead kInstead[] = {
    {"start",
     "A pod is made and started in one: `plimsoll run MANIFEST`. One that has ended is made again: "
     "`plimsoll rm POD`, then `plimsoll run MANIFEST`."},
    {"restart",
     "A pod is made again: `plimsoll rm --force POD`, then `plimsoll run MANIFEST`. With "
     "restartPolicy: Always in its manifest, `plimsoll run` restarts containers that end."},
    {"create", "A pod is made and started in one: `plimsoll run MANIFEST`."},
    {"up", "`plimsoll run --detach MANIFEST` makes the pods of a manifest."},
    {"down", "`plimsoll rm --force POD` stops and removes a pod."},
    {"kill", "`plimsoll stop --time 0 NAME` kills at once."},
    {"explain", "`plimsoll classes explain` shows the effect of a class's settings."},
    {"stats", "`plimsoll top` shows the containers' use of resources."},
    {"info", "`plimsoll daemon status` shows the daemon and the machine."},
    {"load", "`plimsoll image import FILE` brings in an image from a file."},
    {"import", "`plimsoll image import FILE` brings in an image from a file."},
    {"login", "`skopeo login` writes a file of credentials; `plimsoll pull` and `run` read it."},
    {"build", "Images are built by other tools, and brought in by `plimsoll image import FILE`."},
    {"pause", "Containers can't be paused. `plimsoll update NAME --cpu 10m` slows one down."},
};

}  // namespace

std::string InsteadOf(absl::string_view command) {
  for (const Instead& one : kInstead) {
    if (one.command == command) return std::string(one.advice);
  }
  return "";
}

}  // namespace plimsoll::cli
