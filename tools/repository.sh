#!/bin/bash
# Lays out a signed apt repository of the packages below build/packages: tools/repository.sh KEY [DIRECTORY]
#
# KEY names a secret key in gpg's keyring (GNUPGHOME). DIRECTORY is the result, build/repository by default, for
# any web server or file://; what is in its pool stays, so that clients can go back to an older version:
#
#   pool/DIST/*.deb               the packages
#   dists/DIST/{InRelease,...}    the index of each release of Debian
#   plimsoll-archive-keyring.asc  the public key, for Signed-By
#   plimsoll-DIST.sources         for /etc/apt/sources.list.d; URIs is URL, or the directory itself
#
#   URL=...      address at which clients will find DIRECTORY
#   RESULTS=...  directories DIST-ARCH/result with packages (default: build/packages/*/result)
#
# apt-ftparchive makes it, not reprepro: the index is a function of the files, without a database beside them, and
# may have several versions of a package (reprepro of Debian 12 keeps one).
set -euo pipefail
cd "$(dirname "$0")/.."
key=${1:?usage: tools/repository.sh KEY [DIRECTORY]}
mkdir -p "${2:-build/repository}"
target=$(realpath "${2:-build/repository}")

fail() {
  echo "repository: $1" >&2
  exit 1
}
for program in apt-ftparchive gpg; do
  command -v "$program" >/dev/null || fail "there is no $program: tools/setup.sh packages"
done
gpg --batch --list-secret-keys "$key" >/dev/null 2>&1 || fail "gpg has no secret key $key"

dists=()
# shellcheck disable=SC2086
for result in ${RESULTS:-build/packages/*/result}; do
  [ -e "$result/SHA256SUMS" ] || continue
  place=${result%/result}
  dist=$(basename "${place%-*}")
  mkdir -p "$target/pool/$dist"
  cp "$result"/*.deb "$target/pool/$dist/"
  dists+=("$dist")
done
[ ${#dists[@]} -gt 0 ] || fail "no packages in build/packages: make packages"

cd "$target"
gpg --batch --yes --armor --output plimsoll-archive-keyring.asc --export "$key"
for dist in $(printf '%s\n' "${dists[@]}" | sort -u); do
  new=dists/.new-$dist
  rm -rf "$new"
  architectures=$(find "pool/$dist" -name '*.deb' ! -name '*_all.deb' | sed 's/.*_\(.*\)\.deb/\1/' | sort -u)
  for arch in $architectures; do
    index=$new/main/binary-$arch
    mkdir -p "$index"
    apt-ftparchive --arch "$arch" packages "pool/$dist" >"$index/Packages"
    gzip -9 --no-name --keep "$index/Packages"
    xz --keep "$index/Packages"
  done
  apt-ftparchive -o "APT::FTPArchive::Release::Origin=Plimsoll" -o "APT::FTPArchive::Release::Label=Plimsoll" \
    -o "APT::FTPArchive::Release::Suite=$dist" -o "APT::FTPArchive::Release::Codename=$dist" \
    -o "APT::FTPArchive::Release::Components=main" \
    -o "APT::FTPArchive::Release::Architectures=$(echo "$architectures" | paste -sd ' ')" \
    release "$new" >"$new.release"
  mv "$new.release" "$new/Release"
  gpg --batch --yes --local-user "$key" --clearsign --output "$new/InRelease" "$new/Release"
  gpg --batch --yes --local-user "$key" --armor --detach-sign --output "$new/Release.gpg" "$new/Release"
  # Signed: it takes the older one's place.
  rm -rf "dists/$dist"
  mv "$new" "dists/$dist"
  cat >"plimsoll-$dist.sources" <<END
Types: deb
URIs: ${URL:-file://$target}
Suites: $dist
Components: main
Signed-By: /usr/share/keyrings/plimsoll-archive-keyring.asc
END
done
echo "repository: in $target, for $(printf '%s\n' "${dists[@]}" | sort -u | paste -sd ' ')"
