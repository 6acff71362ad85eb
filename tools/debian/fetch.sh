#!/bin/sh
# usage: fetch.sh PACKAGE FOLDER NAME=SHA256...
# Puts files of a Debian package into the current folder, and checks them: from where the package is
# installed, or else out of the package itself, which is downloaded and not installed.
set -eu
package=$1
folder=$2
shift 2
state=$PWD/apt

# Private lists, so that neither root nor an earlier `apt-get update` is needed.
apt() {
  apt-get -qq -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root \
    -o Debug::NoLocking=1 "$@" >"$state/log" 2>&1
}

download() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "this machine has no apt-get" >&2
    exit 1
  fi
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/files"
  if ! apt update || ! apt download "$package"; then
    echo "apt-get could not download the package: $(tail -n 1 "$state/log")" >&2
    exit 1
  fi
  dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x -C "$state/files" ".$folder"
  rm "$package"_*.deb
}

from=$folder
if [ ! -f "$folder/${1%%=*}" ]; then
  download
  from=$state/files$folder
fi
for wanted; do
  name=${wanted%%=*}
  cp "$from/$name" .
  digest=$(sha256sum "$name" | cut -d ' ' -f 1)
  if [ "$digest" != "${wanted#*=}" ]; then
    echo "$name has the SHA-256 $digest, expected ${wanted#*=}" >&2
    exit 1
  fi
done
rm -rf "$state"
