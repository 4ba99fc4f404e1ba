#include "cli/images.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/errors.h"
#include "cli/progress.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

absl::Status CheckNonRoot(const PodManifest& pod, const ContainerManifest& container,
                          const cri::Image& image) {
  const bool non_root =
      container.security.run_as_non_root.value_or(pod.security.run_as_non_root.value_or(false));
  if (!non_root || container.security.run_as_user || pod.security.run_as_user) {
    return absl::OkStatus();
  }
  // The image's user: a number, a name (which may be anybody), or nothing (which is root).
  if (image.has_uid() && image.uid().value() != 0) return absl::OkStatus();
  const std::string why =
      image.username().empty()
          ? "the image runs as root"
          : absl::StrCat("the image's user \"", image.username(), "\" is no number");
  return WithHint(absl::FailedPreconditionError(
                      absl::StrCat("container ", container.name, " has runAsNonRoot, but ", why)),
                  "Give it a runAsUser above 0.");
}

}  // namespace

absl::StatusOr<node::ImageProgress::Done> PullWithProgress(Client& client,
                                                           const std::string& reference,
                                                           const cri::AuthConfig& auth) {
  node::PullImageRequest request;
  request.set_reference(reference);
  if (!auth.username().empty() || !auth.identity_token().empty()) *request.mutable_auth() = auth;
  ProgressBar bar(absl::StrCat("pulling ", reference));
  auto done = client.PullImage(request, [&bar](const node::ImageProgress::Progress& progress) {
    bar.Update(progress.step(), progress.done_bytes(), progress.total_bytes());
  });
  if (done.ok()) return done;
  return WithHint(
      AnnotateOnce(done.status(), "pull", reference),
      absl::StrCat(
          "Check the name, or bring the image from a file: plimsoll image import FILE --name ",
          ShellQuote(reference)));
}

absl::Status EnsureImages(Client& client, const PodManifest& pod) {
  std::set<std::string> pulled;
  for (const ContainerManifest& container : pod.containers) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto image, client.ImageStatus(container.image));
    const bool always = container.pull_policy == "Always" && pulled.count(container.image) == 0;
    if (!image && container.pull_policy == "Never") {
      return WithHint(
          absl::NotFoundError(absl::StrCat("container ", container.name, ": image ",
                                           container.image,
                                           " is not here, and imagePullPolicy is Never")),
          absl::StrCat("plimsoll image import FILE --name ", ShellQuote(container.image), "  or  ",
                       "plimsoll image pull ", ShellQuote(container.image)));
    }
    if (!image || always) {
      PLIMSOLL_RETURN_IF_ERROR(
          PullWithProgress(client, container.image, cri::AuthConfig()).status());
      pulled.insert(container.image);
      PLIMSOLL_ASSIGN_OR_RETURN(image, client.ImageStatus(container.image));
      if (!image) {
        return absl::InternalError(
            absl::StrCat("image ", container.image, " was pulled and is not there"));
      }
    }
    PLIMSOLL_RETURN_IF_ERROR(CheckNonRoot(pod, container, *image));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::cli
