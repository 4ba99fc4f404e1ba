// plimsoll image
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "cli/command/command.h"
#include "cli/command/each_name.h"
#include "cli/command/lookup.h"
#include "cli/node_commands/images.h"
#include "cli/node_commands/node_commands.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "image/layers/archive_magic.h"

namespace plimsoll::cli {
namespace {

// `asked` is the requested name; empty: the names in the archive.
absl::StatusOr<int> PrintDone(const CommandContext& context, const node::ImageProgress::Done& done,
                              const std::string& asked) {
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(done, context.format()));
    return kExitOk;
  }
  const std::string name = !asked.empty() ? asked
                           : done.repo_tags().empty()
                               ? (done.repo_digests().empty() ? "" : done.repo_digests(0))
                               : done.repo_tags(0);
  Print(absl::StrCat(ShortId(done.image_id()), "  ", name, "  ", HumanBytes(done.size_bytes()),
                     "\n"));
  return kExitOk;
}

// The daemon's limit, and so the limit of a copy for it.
constexpr uint64_t kMaxArchiveBytes = uint64_t{128} << 30;

absl::Status NoArchive(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path == "-" ? "standard input" : path, " is ", what,
                   "; valid is an OCI layout, a docker-archive or a root file system, as directory "
                   "or tar, or a pipe that gives such a tar"));
}

// Opens an input that this process alone can read, and once: standard input ("-"), a pipe,
// `<(...)`. Invalid for anything else.
absl::StatusOr<UniqueFd> OpenIfPipe(const std::string& path) {
  UniqueFd fd;
  const bool is_input = path == "-";
  struct stat info = {};
  if ((is_input ? fstat(STDIN_FILENO, &info) : stat(path.c_str(), &info)) != 0) {
    return ErrnoStatus(errno, is_input ? "open standard input" : "open " + path);
  }
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) return NoArchive(path, "a device");
  if (is_input) {
    fd.Reset(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!fd.valid()) return ErrnoStatus(errno, "open standard input");
    return fd;
  }
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return fd;
  fd.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "open " + path);
  return fd;
}

// A file without a name: the kernel frees it with this process. The daemon reads an archive twice,
// through /proc.
absl::StatusOr<UniqueFd> CopyToUnnamedFile(int from, const std::string& name) {
  const char* place = std::getenv("TMPDIR");
  const std::string directory = place != nullptr && *place != '\0' ? place : "/var/tmp";
  UniqueFd copy(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!copy.valid()) return ErrnoStatus(errno, "make a temporary file in " + directory);
  std::vector<char> buffer(size_t{1} << 20);
  std::string start;
  uint64_t total = 0;
  for (;;) {
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "read " + name);
    // Checked early: an endless stream would fill the disk before the daemon could refuse it.
    const bool looked = start.size() >= image::kArchiveStartBytes;
    if (!looked) start.append(buffer.data(), static_cast<size_t>(count));
    if (!looked && (count == 0 || start.size() >= image::kArchiveStartBytes) &&
        !image::BeginsLikeArchive(start)) {
      return NoArchive(name, start.empty() ? "empty" : "no archive");
    }
    if (count == 0) return copy;
    total += static_cast<uint64_t>(count);
    if (total > kMaxArchiveBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name, " is larger than ", kMaxArchiveBytes, " bytes"));
    }
    for (ssize_t done = 0; done < count;) {
      const ssize_t n = write(copy.get(), buffer.data() + done, static_cast<size_t>(count - done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        return WithHint(
            ErrnoStatus(errno, absl::StrCat("copy ", name, " to a temporary file in ", directory)),
            "TMPDIR names another place for it.");
      }
      done += n;
    }
  }
}

absl::StatusOr<int> Import(const CommandContext& context, const std::string& path,
                           const std::string& name) {
  node::ImportImageRequest request;
  request.set_reference(name);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd pipe, OpenIfPipe(path));
  UniqueFd copy;
  if (pipe.valid()) {
    PLIMSOLL_ASSIGN_OR_RETURN(copy, CopyToUnnamedFile(pipe.get(), path));
    request.set_path(absl::StrCat("/proc/", getpid(), "/fd/", copy.get()));
  } else {
    // The path is made absolute, for the daemon has another working directory.
    char resolved[PATH_MAX];
    if (realpath(path.c_str(), resolved) == nullptr) return ErrnoStatus(errno, "open " + path);
    request.set_path(resolved);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.ConnectToBringIn());
  absl::StatusOr<node::ImageProgress::Done> done;
  {
    ProgressBar bar(absl::StrCat("importing ", path));
    done =
        client->own().ImportImage(request, [&bar](const node::ImageProgress::Progress& progress) {
          bar.Update(progress.step(), progress.done_bytes(), progress.total_bytes());
        });
  }
  if (!done.ok() && copy.valid()) {
    // The daemon names the copy; the user knows the original.
    done = absl::Status(done.status().code(),
                        absl::StrReplaceAll(done.status().message(), {{request.path(), path}}));
  }
  PLIMSOLL_RETURN_IF_ERROR(AnnotateOnce(done.status(), "import", path));
  NoteForeignArchitecture(*client, done->image_id());
  return PrintDone(context, *done, name);
}

absl::StatusOr<int> Pull(const CommandContext& context, const std::string& reference,
                         const std::string& auth_file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const PullAuth auth, UserLogin(auth_file, reference));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.ConnectToBringIn());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto done, PullWithProgress(*client, reference, auth));
  NoteForeignArchitecture(*client, done.image_id());
  return PrintDone(context, done, reference);
}

absl::StatusOr<int> List(const CommandContext& context, bool quiet) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto images, client->ListImages());
  if (quiet) {
    for (const cri::Image& image : images) Print(absl::StrCat(image.id(), "\n"));
    return kExitOk;
  }
  if (context.for_programs()) {
    cri::ListImagesResponse response;
    for (const cri::Image& image : images) *response.add_images() = image;
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
    return kExitOk;
  }
  const bool wide = context.format() == OutputFormat::kWide;
  Table table(wide ? std::vector<std::string>{"ID", "NAME", "SIZE", "USER", "DIGEST"}
                   : std::vector<std::string>{"ID", "NAME", "SIZE"});
  for (const cri::Image& image : images) {
    std::vector<std::string> names(image.repo_tags().begin(), image.repo_tags().end());
    if (names.empty()) names.assign(image.repo_digests().begin(), image.repo_digests().end());
    if (names.empty()) names.emplace_back("-");
    const std::string user = image.has_uid() ? absl::StrCat(image.uid().value()) : image.username();
    for (const std::string& name : names) {
      table.AddRow({wide ? image.id() : ShortId(image.id()), name, HumanBytes(image.size()),
                    user.empty() ? "root" : user,
                    image.repo_digests().empty() ? "-" : image.repo_digests(0)});
    }
  }
  Print(table.ToString());
  return kExitOk;
}

// A container keeps its layers without the image. A new container of the same manifest would find
// no image.
absl::Status CheckUnused(pod::Client& client, const cri::Image& image, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers());
  std::vector<std::string> users;
  for (const cri::Container& container : containers) {
    if (container.image_id() != image.id()) continue;
    users.push_back(absl::StrCat(PodNameOf(container, pods), "/", container.metadata().name()));
  }
  if (users.empty()) return absl::OkStatus();
  return WithHint(absl::FailedPreconditionError(
                      absl::StrCat("image ", name, " is in use by ", absl::StrJoin(users, ", "))),
                  "Remove the pods first (`plimsoll rm`), or give --force: containers that are "
                  "there go on.");
}

absl::Status RemoveOne(pod::Client& client, const std::string& name, bool force) {
  // RemoveImage is OK without an image. The user wants to know of a typo.
  PLIMSOLL_ASSIGN_OR_RETURN(const auto image, client.ImageStatus(name));
  if (!image) {
    return WithHint(absl::NotFoundError(absl::StrCat("there is no image ", name)),
                    "`plimsoll image list` lists the images.");
  }
  if (!force) PLIMSOLL_RETURN_IF_ERROR(CheckUnused(client, *image, name));
  return client.RemoveImage(name);
}

absl::StatusOr<int> RemoveImages(const CommandContext& context,
                                 const std::vector<std::string>& names, bool force) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  return ForEachName(context, names,
                     [&](const std::string& name) { return RemoveOne(*client, name, force); });
}

absl::StatusOr<int> ShowImage(const CommandContext& context, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response, client->InspectImage(name));
  if (!response.has_image()) {
    return WithHint(absl::NotFoundError(absl::StrCat("there is no image ", name)),
                    "`plimsoll image list` lists the images.");
  }
  PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format() == OutputFormat::kJson
                                                      ? OutputFormat::kJson
                                                      : OutputFormat::kYaml));
  return kExitOk;
}

void AddImport(CLI::App& image, CommandContext& context) {
  CLI::App* import = image.add_subcommand("import",
                                          "Bring in an image from a file or directory: an OCI "
                                          "layout or docker-archive, or a plain root "
                                          "file system (directory or tar).");
  auto path = std::make_shared<std::string>();
  auto import_name = std::make_shared<std::string>();
  import->add_option("file", *path, "Tar file, pipe or directory; - is standard input")
      ->type_name("FILE")
      ->required();
  import->add_option("--name", *import_name, "Name to give it (default: the names in the archive)")
      ->type_name("IMAGE");
  context.Act(import,
              [&context, path, import_name] { return Import(context, *path, *import_name); });
}

void SetUpPull(CLI::App* pull, CommandContext& context) {
  auto reference = std::make_shared<std::string>();
  auto auth_file = std::make_shared<std::string>();
  pull->add_option("image", *reference, "NAME[:TAG] or NAME@sha256:DIGEST")
      ->type_name("IMAGE")
      ->required();
  pull->add_option("--authfile", *auth_file,
                   "File with credentials, as docker login and skopeo login write it; without the "
                   "option their own files are read")
      ->type_name("FILE");
  context.Act(pull,
              [&context, reference, auth_file] { return Pull(context, *reference, *auth_file); });
}

void SetUpList(CLI::App* list, CommandContext& context) {
  auto quiet = std::make_shared<bool>(false);
  list->add_flag("-q,--quiet", *quiet, "Print only ids, one a line");
  context.Act(list, [&context, quiet] { return List(context, *quiet); });
}

void SetUpRemove(CLI::App* remove, CommandContext& context) {
  auto names = std::make_shared<std::vector<std::string>>();
  remove->add_option("image", *names, "Names or ids")->type_name("IMAGE")->required();
  auto force = std::make_shared<bool>(false);
  remove->add_flag("-f,--force", *force, "Also remove images that containers use");
  context.Act(remove, [&context, names, force] { return RemoveImages(context, *names, *force); });
}

}  // namespace

void AddImageCommand(CLI::App& app, CommandContext& context) {
  CLI::App* image = app.add_subcommand("image", "Import, pull, list and remove images.");
  image->require_subcommand(1);
  AddImport(*image, context);
  SetUpPull(image->add_subcommand("pull", "Pull an image from a registry."), context);
  CLI::App* list = image->add_subcommand("list", "List images.");
  list->alias("ls");
  SetUpList(list, context);
  CLI::App* remove = image->add_subcommand("remove", "Remove images, or names of one.");
  remove->alias("rm");
  SetUpRemove(remove, context);
  CLI::App* inspect = image->add_subcommand("inspect", "Show everything about an image.");
  auto inspected = std::make_shared<std::string>();
  inspect->add_option("image", *inspected, "Name or id")->type_name("IMAGE")->required();
  context.Act(inspect, [&context, inspected] { return ShowImage(context, *inspected); });

  SetUpList(app.add_subcommand("images", "List images: the same as `image list`."), context);
  SetUpPull(app.add_subcommand("pull", "Pull an image: the same as `image pull`."), context);
  SetUpRemove(app.add_subcommand("rmi", "Remove images: the same as `image remove`."), context);
}

}  // namespace plimsoll::cli
