#include "bench/ground.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::bench {

absl::StatusOr<Ground> Prepare(std::string plimsolld, bool keep, const MakeFlags& make_flags) {
  Ground ground;
  PLIMSOLL_ASSIGN_OR_RETURN(ground.scratch, Scratch::Make(keep));
  const FsRoot& directory = ground.scratch->directory();
  PLIMSOLL_ASSIGN_OR_RETURN(ground.bare, BareRunner::Start(directory));  // before there are threads
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string archive, ground.scratch->ImageArchive());
  PLIMSOLL_RETURN_IF_ERROR(ground.bare->MakeBundle(archive, absl::StrCat(kCgroupParent, "/bare")));
  if (plimsolld.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(plimsolld, BesideThisProgram("plimsolld"));
  }
  std::vector<std::string> flags;
  if (make_flags) {
    PLIMSOLL_ASSIGN_OR_RETURN(flags, make_flags(directory));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(ground.daemon, OwnDaemon::Start(plimsolld, directory, flags));
  PLIMSOLL_RETURN_IF_ERROR(ground.daemon->ImportImage(archive, kImage));
  return ground;
}

}  // namespace plimsoll::bench
