#!/bin/sh
# Puts the four files of Debian's package dataset-fashion-mnist into the current folder: from where the
# package is installed, or else out of the package itself, which is downloaded and not installed.
set -eu
package=dataset-fashion-mnist
installed=/usr/share/datasets/fashion-mnist

if [ -d "$installed" ]; then
  cp "$installed"/*.gz .
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "this machine has no apt-get" >&2
  exit 1
fi

# Private lists, so that neither root nor an earlier `apt-get update` is needed.
state=$PWD/apt
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
apt() {
  apt-get -qq -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root \
    -o Debug::NoLocking=1 "$@" >"$state/log" 2>&1
}
if ! apt update || ! apt download "$package"; then
  echo "apt-get could not download the package: $(tail -n 1 "$state/log")" >&2
  exit 1
fi
dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x --strip-components=5 "./usr/share/datasets/fashion-mnist"
rm -r "$package"_*.deb "$state"
