// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import TestSupport
import Testing

/// What is in a folder, and its end.
@Suite struct FolderTests {
  @Test func `a folder is removed with its contents, and what a link names stays`() throws {
    let folder = TemporaryFolder()
    let kept = folder.file("kept")
    try File.write(kept, [1])
    let tree = folder.file("tree")
    for path in [tree, "\(tree)/inner"] { try File.makeFolder(path) }
    for name in ["inner/file", "file"] { try File.write("\(tree)/\(name)", [2]) }
    #expect(symlink(folder.path, "\(tree)/link") == 0)
    #expect(File.names(in: tree).sorted() == ["file", "inner", "link"])
    File.removeTree(tree)
    #expect(File.names(in: folder.path) == ["kept"])
    #expect(File.names(in: tree) == [])
  }

  @Test func `a file in a folder's place is named as the problem`() throws {
    let folder = TemporaryFolder()
    let file = folder.file("file")
    try File.write(file, [1])
    let error = #expect(throws: SystemError.self) { try File.checkFolder(file) }
    #expect(error?.code == ENOTDIR)
    try File.checkFolder(folder.path)
  }
}
