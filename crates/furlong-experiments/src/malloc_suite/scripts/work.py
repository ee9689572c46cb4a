import json
import sys


def record(number):
    return {
        "id": number,
        "name": "name-%d" % (number * 7919 % 10007),
        "tags": ["tag-%d" % (number % step) for step in (3, 5, 7)],
        "place": {"x": number * 0.5, "y": number % 97},
    }


records = [record(number) for number in range(int(sys.argv[1]))]
text = json.dumps(records, sort_keys=True)
again = json.loads(text)
assert again == records
by_name = {}
for one in again:
    by_name.setdefault(one["name"], []).append(one)
names = sorted(by_name, key=lambda name: (len(by_name[name]), name))
words = " ".join(names).replace("-", " ").split()
counts = {}
for word in words:
    counts[word] = counts.get(word, 0) + 1
print(len(text), len(by_name), names[0], names[-1], sum(counts.values()))
