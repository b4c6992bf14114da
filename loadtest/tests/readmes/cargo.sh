#!/usr/bin/env bash
# Stands in for cargo in the tests of the READMEs. It knows "build" and "run". It builds nothing,
# and uses the programs that were built with the test. As with cargo, if no package is named, it
# takes the default members.
set -eu
built=@BUILT@
defaults="@DEFAULTS@"
bins="@BINS@"
examples="@EXAMPLES@"

refuse() { printf 'cargo: %s\n' "$*" >&2; exit 101; }

# Prints the programs of the package $1. $2 is a list of PACKAGE:PROGRAM.
programs_of() {
  local one
  for one in $2; do
    [ "${one%%:*}" != "$1" ] || printf '%s\n' "${one#*:}"
  done
}

what=$1 profile=debug packages='' example=''
shift
while [ $# -gt 0 ]; do
  case "$1" in
    --release) profile=release ;;
    --profile) profile=$2; shift ;;
    --quiet | --locked) ;;
    -p) packages+=" $2"; shift ;;
    --example) example=$2; shift ;;
    --) shift; break ;;
    *) refuse "unexpected argument '$1'" ;;
  esac
  shift
done
case "$what" in
  build)
    mkdir -p "target/$profile"
    for package in ${packages:-$defaults}; do
      [ -n "$(programs_of "$package" "$bins")" ] || refuse "package '$package' has no program"
      for program in $(programs_of "$package" "$bins"); do
        ln -sf "$built/$program" "target/$profile/$program"
      done
    done
    ;;
  run)
    package=${packages:-$defaults}
    if [ -n "$example" ]; then
      programs_of "${package# }" "$examples" | grep -qx "$example" || refuse "no example '$example'"
      exec "$built/examples/$example" "$@"
    fi
    program=$(programs_of "${package# }" "$bins")
    [ -n "$program" ] || refuse "package '$package' has no program"
    exec "$built/$program" "$@"
    ;;
  *) refuse "no such command: '$what'" ;;
esac
