#!/bin/sh
# usage: fetch.sh PACKAGE FOLDER FILE...
# Puts files of a Debian package into the current folder: from where the package is installed, or else
# out of the package itself, which is downloaded and not installed.
set -eu
package=$1
folder=$2
shift 2

if [ -f "$folder/$1" ]; then
  for file; do cp "$folder/$file" .; done
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "this machine has no apt-get" >&2
  exit 1
fi

# Private lists, so that neither root nor an earlier `apt-get update` is needed.
state=$PWD/apt
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/files"
apt() {
  apt-get -qq -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root \
    -o Debug::NoLocking=1 "$@" >"$state/log" 2>&1
}
if ! apt update || ! apt download "$package"; then
  echo "apt-get could not download the package: $(tail -n 1 "$state/log")" >&2
  exit 1
fi
dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x -C "$state/files"
for file; do cp "$state/files$folder/$file" .; done
rm -r "$package"_*.deb "$state"
