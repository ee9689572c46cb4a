#!/usr/bin/env python3
"""Lists the public names of a crate from rustdoc's JSON: one path a line, with its kind.

Usage: list.py CRATE.json
"""
import json
import sys

# Kinds that stand in a module under a name of their own.
NAMED = {
    "struct": "struct", "enum": "enum", "union": "union", "trait": "trait", "function": "fn",
    "constant": "const", "static": "static", "macro": "macro", "proc_macro": "macro",
    "type_alias": "type", "trait_alias": "trait",
}


def main(path):
    with open(path, encoding="utf-8") as file:
        crate = json.load(file)
    index = crate["index"]
    lines = set()
    seen = set()

    def item(number):
        return index.get(str(number))

    def kind(one):
        return next(iter(one["inner"]))

    def is_hidden(one):
        return any("doc(hidden)" in str(attribute) for attribute in one.get("attrs", []))

    def members(one, path):
        """Fields, variants, methods and the items of traits."""
        name, inner = next(iter(one["inner"].items()))
        numbers = []
        if name == "struct":
            shape = inner["kind"]
            if isinstance(shape, dict) and "plain" in shape:
                numbers += shape["plain"]["fields"]
        elif name == "enum":
            numbers += inner["variants"]
        elif name == "trait":
            numbers += inner["items"]
        for number in numbers:
            member = item(number)
            if member and not is_hidden(member):
                lines.add(f"{path}::{member['name']} {kind(member)}")
        for number in inner.get("impls", []) if isinstance(inner, dict) else []:
            implementation = item(number)
            if not implementation:
                continue
            body = implementation["inner"]["impl"]
            if body["trait"] is not None or body.get("is_synthetic") or body.get("blanket_impl"):
                continue
            for method in map(item, body["items"]):
                if method and method["visibility"] == "public" and not is_hidden(method):
                    lines.add(f"{path}::{method['name']} {kind(method)}")

    def walk(number, path):
        """The public items of a module, re-exported ones under their new names."""
        if (number, path) in seen:
            return
        seen.add((number, path))
        for child_number in item(number)["inner"]["module"]["items"]:
            child = item(child_number)
            if not child or child["visibility"] != "public" or is_hidden(child):
                continue
            name = kind(child)
            if name == "module":
                walk(child_number, f"{path}::{child['name']}")
            elif name == "use":
                target = child["inner"]["use"]
                found = item(target["id"]) if target["id"] is not None else None
                if target["is_glob"] and found and kind(found) == "module":
                    walk(target["id"], path)
                elif found and kind(found) == "module":
                    walk(target["id"], f"{path}::{target['name']}")
                elif found:
                    add(found, f"{path}::{target['name']}")
                else:
                    lines.add(f"{path}::{target['name']} use of {target['source']}")
            else:
                add(child, f"{path}::{child['name']}")

    def add(one, path):
        name = kind(one)
        if name in NAMED:
            lines.add(f"{path} {NAMED[name]}")
            members(one, path)

    root = crate["root"]
    walk(root, item(root)["name"])
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main(sys.argv[1])
