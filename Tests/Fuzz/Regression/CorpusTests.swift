// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Testing

/// The kept inputs of the fuzz targets, without a fuzzer: what was found once stays found.
@Suite struct CorpusTests {
  /// The folder of this package's fuzz tests.
  private static let place = #filePath.split(separator: "/").dropLast(2).map { "/\($0)" }.joined()

  /// Names of the files in a folder, sorted.
  static func files(_ folder: String) -> [String] {
    File.names(in: folder).filter { !$0.hasPrefix(".") }.sorted()
  }

  @Test(arguments: FuzzTarget.all().map(\.name))
  func `the corpora hold every invariant, each file cut off at any byte, too`(_ name: String) throws
  {
    let target = try #require(FuzzTarget.named(name))
    let folder = "\(Self.place)/Corpus/\(name)"
    let files = Self.files(folder)
    #expect(!files.isEmpty, "there is no input in \(folder)")
    #expect(target.violation(UnsafeRawBufferPointer(start: nil, count: 0)) == nil)
    for file in files {
      let bytes = try File.read("\(folder)/\(file)")
      let found = bytes.withUnsafeBytes { target.violation($0) }
      #expect(found == nil, "\(name)/\(file): \(found ?? "")")
      // Some 60 of the cuts: all of them take seconds for long inputs.
      for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 60)) {
        let cut = bytes.prefix(count).withUnsafeBytes { target.violation($0) }
        #expect(cut == nil, "\(name)/\(file), its first \(count) bytes: \(cut ?? "")")
      }
    }
  }

  @Test func `corpora are there for every target, and none for a target that is gone`() {
    #expect(Set(Self.files("\(Self.place)/Corpus")) == Set(FuzzTarget.all().map(\.name)))
  }
}
