// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup

extension FuzzTarget {
  /// The metadata of a commit. The input is read twice: as the text itself, and as runs that are written and
  /// read again, also with a byte changed.
  static func offsetMap() -> FuzzTarget {
    FuzzTarget("offset-map") { bytes in
      // What a broker hands back may belong to any offset.
      let bases: [Int64] = [0, 1_000_000_007, .max - 10]
      let base = bases[bytes.count % bases.count]
      if let broken = broken(Array(bytes), base) { return broken }
      let runs = runs(bytes, from: base)
      guard let map = OffsetMap.encode(of: "topic/0", base: base, runs) else { return nil }
      if map.utf8.count > OffsetMap.charactersAtMost { return "a map that no broker stores" }
      return written(map, base, runs)
    }
  }

  /// What a text says must be possible: ascending ranges at or above the base, within the span.
  private static func broken(_ text: [UInt8], _ base: Int64) -> String? {
    guard let runs = try? OffsetMap.decode(text, of: "topic/0", base: base) else { return nil }
    var position = base
    for run in runs {
      guard run.lowerBound >= position, !run.isEmpty, run.upperBound - base <= OffsetMap.spanAtMost
      else { return "a run at \(run) that cannot be" }
      position = run.upperBound
    }
    // A ledger takes it without more ado.
    let ledger = OffsetLedger(nextOffset: base, completedAbove: runs)
    return ledger.incomplete == 0 ? nil : "incomplete offsets without records"
  }

  /// Runs that the input's bytes spell: a hole and a length, by turns.
  private static func runs(_ bytes: UnsafeRawBufferPointer, from base: Int64) -> [Range<Int64>] {
    var runs: [Range<Int64>] = []
    var position = base
    for index in stride(from: 0, to: bytes.count - 1, by: 2) {
      let hole = Int64(bytes[index]) + (runs.isEmpty ? 0 : 1)
      // Now and then a long one.
      let length = bytes[index + 1] > 250 ? 1 << 16 : Int64(bytes[index + 1]) + 1
      guard position < .max - hole - length else { break }
      runs.append(position + hole..<position + hole + length)
      position += hole + length
    }
    return runs
  }

  /// A map reads as the first of the runs that it was made of.
  private static func written(_ map: String, _ base: Int64, _ runs: [Range<Int64>]) -> String? {
    do throws(OffsetMap.Problem) {
      let again = try OffsetMap.decode(Array(map.utf8), of: "topic/0", base: base)
      var changed = Array(map.utf8)
      changed[changed.count / 2] ^= 1
      if (try? OffsetMap.decode(Array(map.utf8), of: "topic/1", base: base)) != nil {
        return "a map of another partition is believed"
      }
      if (try? OffsetMap.decode(changed, of: "topic/0", base: base)) != nil {
        return "a changed map is believed"
      }
      guard !again.isEmpty, again.elementsEqual(runs.prefix(again.count)) else {
        return "a map says something else than was written"
      }
      let fits =
        again.count == runs.count || runs[again.count].upperBound - base > OffsetMap.spanAtMost
        || map.utf8.count > OffsetMap.charactersAtMost - 16
      return fits ? nil : "a map leaves out what there is room for"
    } catch {
      return "a map that was written is refused: \(error)"
    }
  }
}
