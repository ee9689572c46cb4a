#!/usr/bin/env bash
# Checks the package of each crate for a registry: every file that its code names, README and
# licences, and little else. Checks that the library adds one package to its user's lockfile.
# `ci/package.sh --verify` also builds each from its package alone, in minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "package: $*" >&2; exit 1; }
kib_max=1024
verify=(--no-verify)
case "${1:-}" in
  --verify) verify=() ;;
  ?*) fail "--verify is all that can be said, not $1" ;;
esac

# lacks FOLDER: the files that code in it includes, in its tests aside, and that are not there.
lacks() {
  local file line named
  while IFS=: read -r file line; do
    named=$(sed -E 's/.*"(.*)".*/\1/' <<<"$line")
    [ -f "$(dirname "$file")/$named" ] || echo "${file#"$1/"} includes $named"
  done < <(grep -roE 'include_(str|bytes)!\("[^"]+"\)' --include='*.rs' "$1" | grep -v '/tests/')
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packages=${CARGO_TARGET_DIR:-target}/package
rm -f "$packages"/*.crate
# It warns of each test that stays behind.
if ! cargo package --workspace --allow-dirty "${verify[@]}" 2>"$work/log"; then
  cat "$work/log" >&2
  fail "cargo cannot make them"
fi

for manifest in crates/*/Cargo.toml; do
  name=$(basename "$(dirname "$manifest")")
  package=$(compgen -G "$packages/$name-[0-9]*.crate") || fail "there is none of $name"
  folder=$work/$name
  mkdir "$folder"
  tar -xzf "$package" --strip-components=1 -C "$folder"
  wanted=(Cargo.lock)
  grep -q '^publish = false$' "$manifest" || wanted+=(README.md LICENSE-MIT LICENSE-APACHE)
  for file in "${wanted[@]}"; do [ -s "$folder/$file" ] || fail "$name has no $file"; done
  lacking=$(lacks "$folder")
  [ -z "$lacking" ] || fail "$name lacks files: $lacking"
  kib=$(($(stat -c %s "$package") / 1024))
  [ "$kib" -le "$kib_max" ] || fail "$name has $kib KiB, more than $kib_max"
  printf '%-16s %4d files %5d KiB packed\n' "$name" "$(find "$folder" -type f | wc -l)" "$kib"
done

# An empty crate to which the library is added: itself and the library, whatever the platform.
cargo init --quiet --lib --vcs none --name user "$work/user"
cargo add --quiet --offline --manifest-path "$work/user/Cargo.toml" --path crates/furlong
cargo generate-lockfile --quiet --offline --manifest-path "$work/user/Cargo.toml"
locked=$(sed -n 's/^name = "\(.*\)"/\1/p' "$work/user/Cargo.lock" | xargs)
[ "$locked" = "furlong user" ] || fail "an empty crate with furlong locks $locked"
echo "an empty crate with furlong locks no other package"

# Would it notice? One of the maps of memory is gone.
rm "$work/furlong-spec/traces/phys/laptop.map"
[[ $(lacks "$work/furlong-spec") == *"includes ../../traces/phys/laptop.map" ]] ||
  fail "it does not notice a file that did not come along"
[ "${#verify[@]}" -gt 0 ] || echo "each builds from its package alone"
