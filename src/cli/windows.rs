//! Windows system calls that no safe crate wraps: console events, job objects, and processes that start
//! suspended.

#![expect(unsafe_code, reason = "the Windows API is a C interface")]

use std::{
    io,
    os::windows::{
        io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle},
        process::CommandExt,
    },
    process::{Child, Command},
    sync::Mutex,
    time::Duration,
};

use windows_sys::Win32::{
    Foundation::{HANDLE, INVALID_HANDLE_VALUE},
    System::{
        Console::{
            CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, GenerateConsoleCtrlEvent, SetConsoleCtrlHandler,
        },
        Diagnostics::ToolHelp::{
            CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
        },
        JobObjects::{AssignProcessToJobObject, CreateJobObjectW, TerminateJobObject},
        Threading::{
            CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, INFINITE, OpenThread, ResumeThread,
            THREAD_SUSPEND_RESUME, WaitForSingleObject,
        },
    },
};

/// An event of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Ctrl-C was typed.
    Interrupt,
    /// Ctrl-Break was typed, or a program sent it to our process group.
    Break,
    /// The window was closed.
    Close,
    /// The user logs off, or the system shuts down.
    Shutdown,
}

impl Event {
    fn of(event: u32) -> Self {
        match event {
            CTRL_C_EVENT => Self::Interrupt,
            CTRL_BREAK_EVENT => Self::Break,
            CTRL_CLOSE_EVENT => Self::Close,
            _ => Self::Shutdown,
        }
    }
}

/// Returns whether it handled the event. If no listener did, the program ends by default.
type Listener = Box<dyn FnMut(Event) -> bool + Send>;

/// Global, because Windows calls the handler without an argument of ours.
static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());

/// Calls `notify` for each console event from now on, on a thread of the system.
pub(super) fn listen(notify: impl FnMut(Event) -> bool + Send + 'static) -> io::Result<()> {
    let Ok(mut listeners) = LISTENERS.lock() else { return Err(io::Error::other("a listener has failed")) };
    if listeners.is_empty() {
        // SAFETY: `on_event` has the signature that the system wants, and lives as long as the program.
        check(unsafe { SetConsoleCtrlHandler(Some(on_event), 1) })?;
    }
    listeners.push(Box::new(notify));
    Ok(())
}

/// Windows calls this on a new thread for each event, so it may block.
extern "system" fn on_event(event: u32) -> i32 {
    let event = Event::of(event);
    let Ok(mut listeners) = LISTENERS.lock() else { return 0 };
    let handled = listeners.iter_mut().map(|notify| notify(event)).filter(|handled| *handled).count();
    drop(listeners);
    if handled > 0 && matches!(event, Event::Close | Event::Shutdown) {
        // Windows ends the program when this returns, or some seconds later. The last report needs that time.
        std::thread::sleep(Duration::from_secs(60));
    }
    i32::from(handled > 0)
}

/// Sends Ctrl-Break to a process group on our console. Fails if we have no console.
pub(super) fn send_break(group: u32) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, group) })
}

/// Waits until a process has ended.
pub(super) fn wait(process: BorrowedHandle<'_>) {
    // SAFETY: the handle is open as long as it is borrowed.
    unsafe { WaitForSingleObject(raw(process), INFINITE) };
}

/// A job object: a process and everything it starts.
pub(super) struct Job(OwnedHandle);

impl Job {
    /// Starts a command in its own job and process group. It runs only once it is in the job, so that every
    /// process it starts is in the job too.
    pub(super) fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        // SAFETY: both pointers may be null: no security attributes, and no name.
        let job = owned(unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) })?;
        let mut child = command.creation_flags(CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP).spawn()?;
        // SAFETY: both handles are open: `job` and `child` own them.
        let assigned =
            check(unsafe { AssignProcessToJobObject(raw(job.as_handle()), raw(child.as_handle())) });
        if let Err(error) = assigned.and_then(|()| resume(child.id())) {
            child.kill()?;
            return Err(error);
        }
        Ok((child, Self(job)))
    }

    /// Ends all processes of the job, with this exit code.
    pub(super) fn terminate(&self, code: u32) {
        // If it fails, the processes have ended already.
        // SAFETY: the handle is open: `self` owns it.
        unsafe { TerminateJobObject(raw(self.0.as_handle()), code) };
    }
}

/// Resumes a process that was started suspended. Its thread is looked up, because the standard library closes
/// the handle.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    let threads = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..THREADENTRY32::default() };
    // SAFETY: the handle is that of a snapshot, and the entry says its own size.
    let mut found = unsafe { Thread32First(raw(threads.as_handle()), &raw mut entry) };
    while found != 0 {
        if entry.th32OwnerProcessID == process {
            // SAFETY: no pointers are passed.
            let thread = owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            // SAFETY: the handle is open, with the right to resume.
            return match unsafe { ResumeThread(raw(thread.as_handle())) } {
                u32::MAX => Err(io::Error::last_os_error()),
                _ => Ok(()),
            };
        }
        // SAFETY: as above.
        found = unsafe { Thread32Next(raw(threads.as_handle()), &raw mut entry) };
    }
    Err(io::Error::other("the command has no thread"))
}

fn raw(handle: BorrowedHandle<'_>) -> HANDLE {
    handle.as_raw_handle()
}

/// Takes ownership of a handle that a call has just returned.
fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is open, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Turns the zero that most calls return on failure into an error.
fn check(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
