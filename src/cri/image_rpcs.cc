#include "cri/image_rpcs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cri/messages/registry_auth.h"
#include "cri/messages/validate.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

std::string ImageInfo(const image::Image& image) {
  nlohmann::json json;
  json["manifestDigest"] = image.record.manifest_digest;
  json["chainIDs"] = image.record.chain_ids;
  json["entrypoint"] = image.config.entrypoint;
  json["command"] = image.config.command;
  json["environment"] = image.config.environment;
  json["user"] = image.config.user;
  json["workingDirectory"] = image.config.working_directory;
  json["stopSignal"] = image.config.stop_signal;
  json["labels"] = image.config.labels;
  json["architecture"] = image.config.architecture;
  json["os"] = image.config.os;
  json["volumes"] = image.config.volumes;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// For errors that kubelet knows by name, it looks at the beginning of an UNKNOWN error's message.
absl::Status AsKubeletNamesIt(const absl::Status& status) {
  const char* name = image::IsSignatureRefusal(status) ? "SignatureValidationFailed"
                     : absl::IsUnavailable(status)     ? "RegistryUnavailable"
                                                       : nullptr;
  return name == nullptr ? status : absl::UnknownError(absl::StrCat(name, ": ", status.message()));
}

// Maximum age of the writable layers' usage: reading it means walking the disk.
constexpr absl::Duration kMaxAgeOfUsage = absl::Seconds(10);

}  // namespace

void FillImage(const image::Image& image, v1::Image* out) {
  const image::ImageRecord& record = image.record;
  out->set_id(record.id);
  for (const std::string& tag : record.repo_tags) out->add_repo_tags(tag);
  for (const std::string& digest : record.repo_digests) out->add_repo_digests(digest);
  out->set_size(record.size_bytes);
  out->set_pinned(record.pinned);
  out->mutable_spec()->set_image(!record.repo_tags.empty()      ? record.repo_tags.front()
                                 : !record.repo_digests.empty() ? record.repo_digests.front()
                                                                : record.id);
  // No spec.runtime_handler: an image is the same for all handlers. Kubelet counts an image as
  // unused if its handler differs from that of its containers' image, so those carry none either.
  //
  // "user:group", of which the CRI wants the user. An empty user is root, reported as such.
  const std::string user = image.config.user.substr(0, image.config.user.find(':'));
  int64_t uid = 0;
  if (user.empty() || absl::SimpleAtoi(user, &uid)) {
    out->mutable_uid()->set_value(uid);
  } else {
    out->set_username(user);
  }
}

absl::StatusOr<image::PullOptions> PullOptionsFrom(const CallContext& call,
                                                   const v1::AuthConfig& auth,
                                                   absl::string_view reference) {
  image::PullOptions options;
  PLIMSOLL_ASSIGN_OR_RETURN(options.credentials, CredentialsFrom(auth, reference));
  options.timeout = std::min(options.timeout, call.deadline - absl::Now());
  options.cancelled = [cancellation = call.cancellation] { return cancellation->cancelled(); };
  return options;
}

absl::StatusOr<std::vector<image::Image>> ImageRpcs::Matching(const v1::ImageFilter& filter) {
  const std::string& wanted = filter.image().image();
  if (wanted.empty()) return images_->List();
  absl::StatusOr<image::Image> image = images_->Find(wanted);
  if (absl::IsNotFound(image.status())) return std::vector<image::Image>();
  PLIMSOLL_RETURN_IF_ERROR(image.status());
  return std::vector<image::Image>{*std::move(image)};
}

absl::Status ImageRpcs::ListImages(const v1::ListImagesRequest& request,
                                   v1::ListImagesResponse* response) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<image::Image> images, Matching(request.filter()));
  for (const image::Image& image : images) FillImage(image, response->add_images());
  return absl::OkStatus();
}

PartSource<v1::StreamImagesResponse> ImageRpcs::StreamImages(
    const v1::StreamImagesRequest& request) {
  return InParts<v1::StreamImagesResponse, image::Image>(
      [this, request] { return Matching(request.filter()); },
      [](const image::Image& image, v1::StreamImagesResponse* part) -> absl::StatusOr<size_t> {
        v1::Image* const listed = part->add_images();
        FillImage(image, listed);
        return listed->ByteSizeLong();
      });
}

absl::Status ImageRpcs::ImageStatus(const v1::ImageStatusRequest& request,
                                    v1::ImageStatusResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWord("image.image", request.image().image()));
  const absl::StatusOr<image::Image> image = images_->Find(request.image().image());
  if (absl::IsNotFound(image.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(image.status());
  FillImage(*image, response->mutable_image());
  if (request.verbose()) (*response->mutable_info())["info"] = ImageInfo(*image);
  return absl::OkStatus();
}

absl::Status ImageRpcs::PullImage(const CallContext& call, const v1::PullImageRequest& request,
                                  v1::PullImageResponse* response) {
  const std::string& reference = request.image().image();
  PLIMSOLL_RETURN_IF_ERROR(CheckWord("image.image", reference));
  const std::string& handler = request.image().runtime_handler();
  if (!handler.empty() && !absl::c_linear_search(runtime_handlers_, handler)) {
    return Invalid("image.runtime_handler", handler,
                   "must be empty or a configured runtime handler");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const image::PullOptions options,
                            PullOptionsFrom(call, request.auth(), reference));
  const absl::StatusOr<image::Image> image =
      images_->Pull(reference, options, [](const image::Progress&) {});
  if (!image.ok()) return AsKubeletNamesIt(image.status());
  response->set_image_ref(image->record.id);
  return absl::OkStatus();
}

absl::Status ImageRpcs::RemoveImage(const v1::RemoveImageRequest& request,
                                    v1::RemoveImageResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWord("image.image", request.image().image()));
  return images_->Remove(request.image().image());
}

absl::Status ImageRpcs::ImageFsInfo(const v1::ImageFsInfoRequest&,
                                    v1::ImageFsInfoResponse* response) {
  PLIMSOLL_ASSIGN_OR_RETURN(const image::ImageUsage usage, images_->Usage());
  v1::FilesystemUsage* images = response->add_image_filesystems();
  images->set_timestamp(clock_->NowUnixNanos());
  images->mutable_fs_id()->set_mountpoint(images_->directory());
  images->mutable_used_bytes()->set_value(usage.bytes);
  images->mutable_inodes_used()->set_value(usage.inodes);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto writable,
                            engine_->readings().WritableLayersUsage(kMaxAgeOfUsage));
  v1::FilesystemUsage* containers = response->add_container_filesystems();
  containers->set_timestamp(writable->unix_nanos);
  containers->mutable_fs_id()->set_mountpoint(writable->directory);
  containers->mutable_used_bytes()->set_value(writable->total.bytes);
  containers->mutable_inodes_used()->set_value(writable->total.inodes);
  return absl::OkStatus();
}

}  // namespace plimsoll::cri
