// SPDX-License-Identifier: Apache-2.0
import CLinux

/// The arenas of malloc, of which a thread by default has one of its own.
public enum MemoryArena {
  /// Has all threads of the process share one: what one of them frees the others can use. For a process in which one thread
  /// does most of the work, and memory goes from thread to thread. To be called before there are other threads.
  public static func share() { martlet_share_arena() }
}
